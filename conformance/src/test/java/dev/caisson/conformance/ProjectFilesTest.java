package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * C08: a folder that somebody else filled, for instance a checkout that an agent works in, changes
 * neither the command line nor the server that is started in it.
 */
@Timeout(60)
@SuppressWarnings("NullAway.Init") // set before each test
class ProjectFilesTest {
    private static final String KEY = "caisson_" + "0".repeat(40);

    private final AtomicInteger visits = new AtomicInteger();

    @TempDir private Path project;
    @TempDir private Path home;
    private HttpServer trap;
    private String url;

    @BeforeEach
    void open() throws IOException {
        trap = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        trap.createContext(
                "/",
                exchange -> {
                    visits.incrementAndGet();
                    exchange.sendResponseHeaders(401, -1);
                    exchange.close();
                });
        trap.start();
        url = "http://127.0.0.1:" + trap.getAddress().getPort();
        fill();
    }

    @AfterEach
    void close() {
        trap.stop(0);
    }

    /** Every file by which a tool of this kind was ever turned, in its spelling and in ours. */
    private void fill() throws IOException {
        String server = "CAISSON_URL=" + url + "\nCAISSON_API_KEY=" + KEY + "\n";
        String contexts =
                "{\"current\":\"x\",\"contexts\":{\"x\":{\"url\":\""
                        + url
                        + "\",\"key\":\""
                        + KEY
                        + "\"}}}";
        String yaml = "listen: 127.0.0.1:1\nwebhooks:\n  private: true\n";
        Map<String, String> files = new LinkedHashMap<>();
        for (String env : List.of(".env", ".envrc", ".caissonrc", "caisson.env", ".env.local")) {
            files.put(env, server);
        }
        for (String config : List.of("caisson.yaml", "caisson.yml", ".caisson.yaml")) {
            files.put(config, yaml);
            files.put(".caisson/" + config, yaml);
            files.put("etc/caisson/" + config, yaml);
        }
        for (String folder : List.of("", "caisson/", ".caisson/", ".config/caisson/")) {
            files.put(folder + "contexts.json", contexts);
        }
        files.put(
                ".mcp.json",
                "{\"mcpServers\":{\"caisson\":{\"command\":\"false\",\"env\":{\"CAISSON_URL\":\""
                        + url
                        + "\"}}}}");
        // The Java runtime's own, and what a logger would look for.
        files.put(".hotspotrc", "+PrintVMOptions\n+ExitOnOutOfMemoryError\n-UseSerialGC\n");
        files.put("logging.properties", "handlers=java.util.logging.SocketHandler\n");
        files.put("jndi.properties", "java.naming.provider.url=" + url + "\n");
        files.put("META-INF/services/dev.caisson.api.CaissonProvider", "evil.Provider\n");
        files.put("dev/caisson/cli/Main.class", "no class");
        files.put("--json", "");
        files.put("@args", "--context\nx\n");
        for (Map.Entry<String, String> file : files.entrySet()) {
            Path path = project.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.writeString(path, file.getValue());
            path.toFile().setReadable(true, false);
        }
        Files.setPosixFilePermissions(
                project.resolve(".config/caisson/contexts.json"),
                java.nio.file.attribute.PosixFilePermissions.fromString("rw-------"));
    }

    /** What {@code caisson} says and how it ends, in that folder. */
    private Lab.Outside caisson(Path folder, Map<String, String> more, String... words)
            throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(CommandLineFixture.command(words))
                        .directory(folder.toFile())
                        .redirectErrorStream(true);
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(name -> name.startsWith("CAISSON_"));
        environment.remove("XDG_CONFIG_HOME");
        environment.put("HOME", home.toString());
        environment.put("CLASSPATH", LiveService.classPath());
        environment.putAll(more);
        Lab.Outside ended = Lab.finish(builder.start());
        // The runtime says that it leaves the file alone.
        String text = ended.text().replaceFirst("^.* \\.hotspotrc .* ignored.*\n", "");
        return new Lab.Outside(ended.status(), text);
    }

    @Test
    @DisplayName("C08: files of the working folder name no server and no key")
    void namesNoServer() throws Exception {
        Lab.Outside here = caisson(project, Map.of(), "ls");

        assertThat(here).isEqualTo(caisson(home, Map.of(), "ls"));
        assertThat(here.status()).isEqualTo(125);
        assertThat(here.text()).contains("No server is named");
        Lab.Outside mine =
                caisson(
                        project,
                        Map.of("CAISSON_URL", "http://127.0.0.1:1", "CAISSON_API_KEY", KEY),
                        "ls");
        assertThat(mine.text()).contains("127.0.0.1:1").doesNotContain(url);
        assertThat(visits).hasValue(0);

        // Control: the same file in the user's own folder, and the same words in the environment.
        Lab.Outside own = caisson(home, Map.of("HOME", project.toString()), "ls");
        assertThat(own.status()).isEqualTo(125);
        assertThat(visits).hasPositiveValue();
        int before = visits.get();
        caisson(project, Map.of("CAISSON_URL", url, "CAISSON_API_KEY", KEY), "ls");
        assertThat(visits).hasValueGreaterThan(before);
    }

    @Test
    @DisplayName("C08: files of the working folder configure no server")
    void configuresNoServer() throws Exception {
        Lab.Outside here = caisson(project, Map.of(), "config", "show");

        assertThat(here).isEqualTo(caisson(home, Map.of(), "config", "show"));
        assertThat(here.status()).as(here.text()).isZero();
        assertThat(here.text()).contains("listen\t").doesNotContain("listen\t127.0.0.1:1\t");

        // Control: it is a configuration, for whoever names it.
        Lab.Outside named =
                caisson(project, Map.of(), "config", "show", "--config", "caisson.yaml");
        assertThat(named.text()).contains("listen\t127.0.0.1:1\t", "webhooks.private\ttrue\t");
    }
}
