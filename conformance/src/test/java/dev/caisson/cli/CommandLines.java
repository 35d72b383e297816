package dev.caisson.cli;

import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.RemoteConfig;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Runs command lines in this process: for tests that mean the commands and not their start. */
public final class CommandLines {
    private CommandLines() {}

    /** What one left. */
    public record Ended(int status, String out, String err) {}

    /**
     * Runs one to its end, off a terminal; {@code run} needs a server there, as all others do.
     *
     * @param env its environment, and nothing of this process's
     */
    public static Ended run(Map<String, String> env, String stdin, String... words) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Streams streams =
                new Streams(
                        new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)),
                        out,
                        err,
                        false,
                        false);
        Main main = new Main(streams, () -> RemoteCaisson.open(RemoteConfig.of(env)), env);
        int status = main.execute(words);
        return new Ended(
                status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }
}
