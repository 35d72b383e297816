package dev.caisson.conformance;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;

/** Git over HTTP: {@code git http-backend} as a CGI program, with one repository of two commits. */
final class GitBackend implements AutoCloseable {
    private static final String SETUP =
            """
            git init -q --bare -b main repo.git
            git -C repo.git config http.receivepack true
            git init -q -b main work
            cd work
            git config user.email test@example.test
            git config user.name test
            for i in 1 2; do
                echo $i > file; git add file; git commit -q -m "commit $i"
            done
            git push -q ../repo.git main
            """;

    private final Path root;

    GitBackend() {
        try {
            root = Files.createTempDirectory("caisson-git");
            Process setup =
                    new ProcessBuilder("sh", "-ec", SETUP)
                            .directory(root.toFile())
                            .redirectErrorStream(true)
                            .start();
            String said = new String(setup.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (setup.waitFor() != 0) {
                throw new IllegalStateException("no repository: " + said);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What the repository's branch is at. */
    String head() {
        return HostView.text(root.resolve("repo.git/refs/heads/main")).orElse("").strip();
    }

    /** Answers a request beneath {@code /git/}. */
    void serve(Request request, Response response, InputStream body) throws IOException {
        ProcessBuilder builder = new ProcessBuilder("git", "http-backend");
        Map<String, String> env = builder.environment();
        env.put("GIT_PROJECT_ROOT", root.toString());
        env.put("GIT_HTTP_EXPORT_ALL", "1");
        env.put("PATH_INFO", Request.getPathInContext(request).substring("/git".length()));
        env.put("REQUEST_METHOD", request.getMethod());
        String query = request.getHttpURI().getQuery();
        env.put("QUERY_STRING", query == null ? "" : query);
        variable(env, "CONTENT_TYPE", request, "Content-Type");
        variable(env, "HTTP_CONTENT_ENCODING", request, "Content-Encoding");
        variable(env, "GIT_PROTOCOL", request, "Git-Protocol");
        Process process = builder.start();
        try (OutputStream in = process.getOutputStream()) {
            body.transferTo(in);
        }
        InputStream out = process.getInputStream();
        for (String line = line(out); !line.isEmpty(); line = line(out)) {
            String[] parts = line.split(": ", 2);
            if (parts[0].equals("Status")) {
                response.setStatus(Integer.parseInt(parts[1].substring(0, 3)));
            } else {
                response.getHeaders().add(parts[0], parts[1]);
            }
        }
        try (OutputStream sink = Content.Sink.asOutputStream(response)) {
            out.transferTo(sink);
        }
    }

    private static void variable(
            Map<String, String> env, String name, Request request, String header) {
        String value = request.getHeaders().get(header);
        if (value != null) {
            env.put(name, value);
        }
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c >= 0 && c != '\n'; c = in.read()) {
            line.append((char) c);
        }
        return line.toString().strip();
    }

    @Override
    public void close() {
        LiveService.remove(root);
    }
}
