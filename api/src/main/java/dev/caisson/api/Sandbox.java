package dev.caisson.api;

import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * One isolated machine-like environment. Whoever creates it closes it; it also ends with its {@link
 * Caisson} and with the program. Closing destroys everything: processes, files, network.
 */
public interface Sandbox extends AutoCloseable {
    /** The id; two letters and 20 characters, {@code [a-z0-9]}, never used again. */
    String id();

    /** The id of its life between start and stop. */
    String session();

    /** What it was made from. */
    SandboxSpec spec();

    /** The tier it has, never {@link Tier#AUTO}. */
    Tier tier();

    /** The engine that gives the tier, for example {@code namespaces}. */
    String engine();

    /** Where it is in its life. */
    SandboxState state();

    /** What this host could not do for it, one sentence each; empty unless the spec allowed it. */
    List<String> degraded();

    /** Runs a program to its end; output is captured. */
    default ExecResult exec(String... argv) {
        return exec(ExecSpec.of(argv));
    }

    /** Runs a command to its end; output is captured. */
    default ExecResult exec(ExecSpec spec) {
        return start(spec).await();
    }

    /** Starts a command; output is captured. */
    default Exec start(ExecSpec spec) {
        return start(spec, ExecListener.NONE);
    }

    /**
     * Starts a command and streams what it writes.
     *
     * <p>Returns as soon as the command is on its way: one that cannot be started fails {@link
     * Exec#await()}.
     *
     * @throws CaissonException {@link ErrorCode#SANDBOX_ENDED}
     */
    Exec start(ExecSpec spec, ExecListener listener);

    /**
     * Starts a command whose output is read from {@link Exec#stdout()} and {@link Exec#stderr()};
     * nothing is captured.
     */
    Exec pipe(ExecSpec spec);

    /** Its files. */
    SandboxFiles files();

    /** What it has used so far. */
    Usage usage();

    /** Completed with the reason when it ends, for whatever reason. */
    CompletionStage<EndReason> onEnd();

    /**
     * Ends it: returns when all its processes are dead. Does nothing the second time, and never
     * throws.
     */
    @Override
    void close();
}
