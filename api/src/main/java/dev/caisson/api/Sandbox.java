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

    /**
     * Connects to a TCP port that a program inside listens on, on the sandbox's own loopback.
     *
     * @param port 1 to 65,535
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} when nothing listens there
     */
    Tunnel dial(int port);

    /**
     * Makes a user inside with a home of mode 0700; nothing changes when it is there.
     *
     * @param name {@code [a-z_][a-z0-9_-]{0,31}}
     */
    UserInfo addUser(String name);

    /**
     * Freezes its processes in place: they keep their memory and use no CPU time. Files still go in
     * and out, new commands are refused. Does nothing while it is paused.
     *
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when this host or tier cannot
     */
    void pause();

    /** Lets its processes go on. Does nothing unless it is paused. */
    void resume();

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
