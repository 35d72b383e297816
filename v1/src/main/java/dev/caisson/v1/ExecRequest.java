package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A command.
 *
 * @param argv program and arguments; or {@code command}
 * @param command a line for {@code /bin/sh -c}
 * @param env added to the environment
 * @param cwd default /work
 * @param user name or number inside; default sandbox
 * @param timeoutMillis SIGTERM after that
 * @param graceMillis between SIGTERM and SIGKILL
 * @param stdin standard input stays open
 * @param input text for standard input, then end of file
 * @param linger what it leaves behind lives on
 * @param pty a terminal instead of pipes
 * @param outputBytes captured and kept bytes
 * @param onOutputLimit {@code truncate} or {@code kill}
 * @param secrets names of secrets that the sandbox's requests get while this runs, besides its own
 */
public record ExecRequest(
        List<String> argv,
        @Nullable String command,
        Map<String, String> env,
        @Nullable String cwd,
        @Nullable String user,
        @Nullable Long timeoutMillis,
        @Nullable Long graceMillis,
        @Nullable Boolean stdin,
        @Nullable String input,
        @Nullable Boolean linger,
        @Nullable PtyJson pty,
        @Nullable Long outputBytes,
        @Nullable String onOutputLimit,
        List<String> secrets) {
    /** Copies the collections; absent ones are empty. */
    public ExecRequest {
        argv = List.copyOf(Absent.list(argv));
        env = Map.copyOf(Absent.map(env));
        secrets = List.copyOf(Absent.list(secrets));
    }

    /** A command with every default. */
    public static ExecRequest of(List<String> argv) {
        return new ExecRequest(
                argv, null, Map.of(), null, null, null, null, null, null, null, null, null, null,
                List.of());
    }
}
