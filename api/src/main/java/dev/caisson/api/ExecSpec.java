package dev.caisson.api;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One command to run in a sandbox.
 *
 * <p>The environment inside is PATH, HOME, LANG=C.UTF-8, then the sandbox's own, then this one.
 *
 * @param argv program and arguments; never empty, no shell unless {@link #shell} made it. A program
 *     without a slash is looked up in PATH
 * @param env added to the environment; never in events
 * @param cwd working directory, absolute; default {@code /work}
 * @param user who runs it inside; default {@link User#SANDBOX}
 * @param timeout SIGTERM after that, SIGKILL after {@code grace}; empty: {@link Limits#timeout()}
 * @param grace between SIGTERM and SIGKILL at the timeout; up to 60 s, default 2 s
 * @param stdin whether {@link Exec#stdin()} may be written; otherwise the program reads end of file
 *     at once
 * @param linger whether processes that the command leaves behind live on after it
 * @param capture whether output is kept for the {@link ExecResult}, up to the output limit; default
 *     true
 * @param outputLimit captured bytes per descriptor; empty: {@link Limits#outputLimit()}
 * @param onOutputLimit empty: {@link Limits#onOutputLimit()}
 * @param overflow what happens when nobody takes the output in time
 * @param pty a terminal of its own instead of pipes: standard input is open and typed into it, all
 *     output is {@link OutputFd#PTY} and captured as standard output; empty: pipes
 */
public record ExecSpec(
        List<String> argv,
        Map<String, String> env,
        String cwd,
        User user,
        Optional<Duration> timeout,
        Duration grace,
        boolean stdin,
        boolean linger,
        boolean capture,
        Optional<ByteSize> outputLimit,
        Optional<OnOutputLimit> onOutputLimit,
        Overflow overflow,
        Optional<PtySize> pty) {

    /** A program with its arguments; defaults for all else. */
    public static ExecSpec of(String... argv) {
        return of(List.of(argv));
    }

    /** A program with its arguments; defaults for all else. */
    public static ExecSpec of(List<String> argv) {
        return new ExecSpec(
                argv,
                Map.of(),
                "/work",
                User.SANDBOX,
                Optional.empty(),
                Duration.ofSeconds(2),
                false,
                false,
                true,
                Optional.empty(),
                Optional.empty(),
                Overflow.WAIT,
                Optional.empty());
    }

    /**
     * A line for {@code /bin/sh -c}. Put nothing into it that somebody else wrote; pass that as an
     * argument or variable.
     */
    public static ExecSpec shell(String line) {
        return of("/bin/sh", "-c", line);
    }

    /** Copies the collections; refuses what no system accepts with {@link ErrorCode#INVALID}. */
    public ExecSpec {
        argv = List.copyOf(argv);
        Environment.check(env);
        env = Map.copyOf(env);
        if (argv.isEmpty() || argv.getFirst().isEmpty()) {
            throw CaissonException.invalid("argv", "A command needs a program.");
        }
        for (String argument : argv) {
            if (argument.indexOf('\0') >= 0) {
                throw CaissonException.invalid("argv", "An argument holds a NUL character.");
            }
        }
        if (!cwd.startsWith("/") || cwd.indexOf('\0') >= 0) {
            throw CaissonException.invalid(
                    "cwd", "The working directory '" + cwd + "' is not absolute.");
        }
        timeout.ifPresent(given -> {
            if (given.toMillis() < 1 || given.compareTo(Duration.ofDays(365)) > 0) {
                throw CaissonException.invalid(
                        "timeout", "A timeout is between 1 ms and 365 days.");
            }
        });
        if (grace.isNegative() || grace.compareTo(Duration.ofSeconds(60)) > 0) {
            throw CaissonException.invalid("grace", "The grace time is between 0 and 60 s.");
        }
    }

    /** The same with another command. */
    public ExecSpec withArgv(List<String> newArgv) {
        return new ExecSpec(
                newArgv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another environment. */
    public ExecSpec withEnv(Map<String, String> newEnv) {
        return new ExecSpec(
                argv,
                newEnv,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another working directory. */
    public ExecSpec withCwd(String newCwd) {
        return new ExecSpec(
                argv,
                env,
                newCwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another user. */
    public ExecSpec withUser(User newUser) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                newUser,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another timeout. */
    public ExecSpec withTimeout(Duration newTimeout) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                Optional.of(newTimeout),
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another grace time. */
    public ExecSpec withGrace(Duration newGrace) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                newGrace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another standard input. */
    public ExecSpec withStdin(boolean newStdin) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                newStdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another answer to processes left behind. */
    public ExecSpec withLinger(boolean newLinger) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                newLinger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another choice of capturing. */
    public ExecSpec withCapture(boolean newCapture) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                newCapture,
                outputLimit,
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another output limit. */
    public ExecSpec withOutputLimit(ByteSize newOutputLimit) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                Optional.of(newOutputLimit),
                onOutputLimit,
                overflow,
                pty);
    }

    /** The same with another answer to too much output. */
    public ExecSpec withOnOutputLimit(OnOutputLimit newOnOutputLimit) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                Optional.of(newOnOutputLimit),
                overflow,
                pty);
    }

    /** The same with another answer to output that nobody takes. */
    public ExecSpec withOverflow(Overflow newOverflow) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                newOverflow,
                pty);
    }

    /** The same with a terminal of that size. */
    public ExecSpec withPty(PtySize newPty) {
        return new ExecSpec(
                argv,
                env,
                cwd,
                user,
                timeout,
                grace,
                stdin,
                linger,
                capture,
                outputLimit,
                onOutputLimit,
                overflow,
                Optional.of(newPty));
    }
}
