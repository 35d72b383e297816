package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.HostFile;
import dev.caisson.api.Program;
import dev.caisson.api.RunSpec;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.SandboxSpec;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.RunRequest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Puts a run and all that it needs into one request. */
final class RunRequests {
    private static final int MAX_FILES_BYTES = 32 << 20;
    private static final int MAX_INPUT = 16 << 20;
    private static final String INSTEAD =
            "Create a sandbox, copy files into it and run the command there.";

    private final List<InputFileJson> files = new ArrayList<>();
    private long bytes;

    private RunRequests() {}

    static RunRequest of(RunSpec spec) {
        if (!spec.workdir().equals("/work")) {
            throw RemoteRun.cannot(
                    "Runs on a server begin in /work, not in " + spec.workdir() + ".", INSTEAD);
        }
        RunRequests parts = new RunRequests();
        spec.files().forEach(parts::add);
        Source source = source(spec.program());
        SandboxSpec sandbox = spec.sandbox();
        List<String> argv = new ArrayList<>(source.argv());
        if (!argv.isEmpty()) {
            argv.addAll(spec.arguments());
        }
        return new RunRequest(
                source.code(),
                source.language(),
                argv,
                null,
                argv.isEmpty() ? spec.arguments() : List.of(),
                parts.files,
                spec.stdin().map(RunRequests::input).orElse(null),
                sandbox.env(),
                Requests.tier(sandbox),
                Requests.template(sandbox),
                null,
                null,
                Requests.limits(sandbox.limits()),
                null,
                spec.listFiles() || spec.out().isPresent() || spec.inlineFiles(),
                spec.inlineFiles() ? true : null,
                null,
                sandbox.labels(),
                Requests.root(sandbox),
                sandbox.allowDegraded() ? true : null,
                Requests.egress(sandbox),
                List.of());
    }

    /** Code with its language, or a command. */
    private record Source(@Nullable String code, @Nullable String language, List<String> argv) {}

    private static Source source(Program program) {
        return switch (program) {
            case Program.Command command -> new Source(null, null, command.argv());
            case Program.Code code -> new Source(code.text(), code.language(), List.of());
            case Program.Script script ->
                    new Source(text(script.file()), extension(script.file()), List.of());
        };
    }

    private static String extension(Path script) {
        String name = String.valueOf(script.getFileName());
        int dot = name.lastIndexOf('.');
        if (dot < 0) {
            throw CaissonException.invalid(
                            "script", "The extension of '" + name + "' does not tell its language.")
                    .withRemedy("Name its language, or run a command.");
        }
        return name.substring(dot + 1);
    }

    private static String text(Path script) {
        try {
            return Files.readString(script);
        } catch (IOException e) {
            throw TarSource.unreadable(script, e);
        }
    }

    /** Standard input, read to its end. */
    private static String input(InputStream stdin) {
        try {
            byte[] read = stdin.readNBytes(MAX_INPUT + 1);
            if (read.length > MAX_INPUT) {
                throw CaissonException.of(
                                ErrorCode.TOO_LARGE,
                                "Standard input of a run on a server has at most 16 MiB.")
                        .withRemedy(INSTEAD);
            }
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(read)).toString();
        } catch (CharacterCodingException e) {
            throw RemoteRun.cannot("Standard input of a run on a server is UTF-8 text.", INSTEAD);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INVALID, "Standard input cannot be read: " + e, e);
        }
    }

    private void add(HostFile file) {
        String inside =
                file.inside().endsWith("/")
                        ? file.inside()
                                + SandboxFiles.escape(String.valueOf(file.host().getFileName()))
                        : file.inside();
        try {
            Path host = file.host().toRealPath();
            if (Files.isRegularFile(host)) {
                add(host, inside);
                return;
            }
            try (Stream<Path> walk = Files.walk(host)) {
                List<Path> below =
                        walk.filter(path -> Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS))
                                .toList();
                for (Path path : below) {
                    String relative = SandboxFiles.escape(host.relativize(path).toString());
                    add(path, inside + "/" + relative);
                }
            }
        } catch (IOException | java.io.UncheckedIOException e) {
            throw TarSource.unreadable(file.host(), e);
        }
    }

    private void add(Path host, String inside) throws IOException {
        bytes += Files.size(host);
        if (bytes > MAX_FILES_BYTES) {
            throw CaissonException.of(
                            ErrorCode.TOO_LARGE,
                            "Files of a run on a server have at most 32 MiB together.")
                    .withRemedy(INSTEAD);
        }
        files.add(
                new InputFileJson(
                        inside,
                        null,
                        Base64.getEncoder().encodeToString(Files.readAllBytes(host)),
                        TarSource.mode(Files.getPosixFilePermissions(host))));
    }
}
