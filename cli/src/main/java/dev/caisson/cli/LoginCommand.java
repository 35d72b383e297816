package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.InfoJson;
import java.io.Console;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson login}: remembers a server and a key. */
@Command(
        name = "login",
        description =
                "Remembers a server and a key for it, and uses them from now on. The key is read"
                        + " from CAISSON_API_KEY, or else from the terminal or standard input.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson login https://caisson.example.org:8443 --name work"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LoginCommand extends LocalCommand {
    private static final int LONGEST_KEY = 200;

    /** What was remembered. */
    record Remembered(String name, String url, String version, String role, String tenant) {}

    @Option(
            names = "--name",
            paramLabel = "NAME",
            description = "how it is called (the server's host)")
    private @Nullable String name;

    @Option(names = "--ca-file", paramLabel = "FILE", description = "PEM certificates to trust")
    private @Nullable Path caFile;

    @Option(names = "--tenant", paramLabel = "ID", description = "act for it, as an operator")
    private @Nullable String tenant;

    @Parameters(paramLabel = "URL", description = "http or https")
    private String url;

    @Override
    public Integer call() {
        Main main = main();
        Contexts.Context context =
                new Contexts.Context(
                        url,
                        key(main),
                        tenant,
                        caFile == null ? null : caFile.toAbsolutePath().toString());
        InfoJson info;
        try (ServiceClient client = ServiceClient.open(Server.config(context))) {
            info = client.info();
        }
        Path file = Contexts.file(main.env());
        String called = name == null ? Server.config(context).url().getHost() : name;
        Contexts.load(file).with(called, context).using(called).save(file);
        printer()
                .made(
                        new Remembered(called, url, info.version(), info.role(), info.tenant()),
                        "logged in to "
                                + called
                                + ", version "
                                + info.version()
                                + ", as "
                                + info.role()
                                + " of "
                                + info.tenant());
        return 0;
    }

    private static String key(Main main) {
        String given = main.env().getOrDefault("CAISSON_API_KEY", "").strip();
        if (!given.isEmpty()) {
            return given;
        }
        Console console = Streams.isTerminal(0) ? System.console() : null;
        if (console != null) {
            char[] typed = console.readPassword("Key: ");
            return typed == null ? "" : new String(typed).strip();
        }
        try {
            byte[] line = main.streams().in().readNBytes(LONGEST_KEY);
            return new String(line, StandardCharsets.UTF_8).strip();
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INVALID, "The key cannot be read: " + e, e);
        }
    }
}
