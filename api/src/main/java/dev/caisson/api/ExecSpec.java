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
 * @param secrets names of secrets of the server that requests of the sandbox get while this runs,
 *     besides the sandbox's own; without a server that is {@link ErrorCode#UNSUPPORTED}
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
        Optional<PtySize> pty,
        List<String> secrets) {

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
                Optional.empty(),
                List.of());
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
        secrets = List.copyOf(secrets);
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
        Draft draft = new Draft(this);
        draft.argv = newArgv;
        return draft.spec();
    }

    /** The same with another environment. */
    public ExecSpec withEnv(Map<String, String> newEnv) {
        Draft draft = new Draft(this);
        draft.env = newEnv;
        return draft.spec();
    }

    /** The same with another working directory. */
    public ExecSpec withCwd(String newCwd) {
        Draft draft = new Draft(this);
        draft.cwd = newCwd;
        return draft.spec();
    }

    /** The same with another user. */
    public ExecSpec withUser(User newUser) {
        Draft draft = new Draft(this);
        draft.user = newUser;
        return draft.spec();
    }

    /** The same with another timeout. */
    public ExecSpec withTimeout(Duration newTimeout) {
        Draft draft = new Draft(this);
        draft.timeout = Optional.of(newTimeout);
        return draft.spec();
    }

    /** The same with another grace time. */
    public ExecSpec withGrace(Duration newGrace) {
        Draft draft = new Draft(this);
        draft.grace = newGrace;
        return draft.spec();
    }

    /** The same with another standard input. */
    public ExecSpec withStdin(boolean newStdin) {
        Draft draft = new Draft(this);
        draft.stdin = newStdin;
        return draft.spec();
    }

    /** The same with another answer to processes left behind. */
    public ExecSpec withLinger(boolean newLinger) {
        Draft draft = new Draft(this);
        draft.linger = newLinger;
        return draft.spec();
    }

    /** The same with another choice of capturing. */
    public ExecSpec withCapture(boolean newCapture) {
        Draft draft = new Draft(this);
        draft.capture = newCapture;
        return draft.spec();
    }

    /** The same with another output limit. */
    public ExecSpec withOutputLimit(ByteSize newOutputLimit) {
        Draft draft = new Draft(this);
        draft.outputLimit = Optional.of(newOutputLimit);
        return draft.spec();
    }

    /** The same with another answer to too much output. */
    public ExecSpec withOnOutputLimit(OnOutputLimit newOnOutputLimit) {
        Draft draft = new Draft(this);
        draft.onOutputLimit = Optional.of(newOnOutputLimit);
        return draft.spec();
    }

    /** The same with another answer to output that nobody takes. */
    public ExecSpec withOverflow(Overflow newOverflow) {
        Draft draft = new Draft(this);
        draft.overflow = newOverflow;
        return draft.spec();
    }

    /** The same with a terminal of that size. */
    public ExecSpec withPty(PtySize newPty) {
        Draft draft = new Draft(this);
        draft.pty = Optional.of(newPty);
        return draft.spec();
    }

    /** The same with these secrets. */
    public ExecSpec withSecrets(List<String> newSecrets) {
        Draft draft = new Draft(this);
        draft.secrets = newSecrets;
        return draft.spec();
    }

    /** A copy of which one field is set. */
    private static final class Draft {
        private List<String> argv;
        private Map<String, String> env;
        private String cwd;
        private User user;
        private Optional<Duration> timeout;
        private Duration grace;
        private boolean stdin;
        private boolean linger;
        private boolean capture;
        private Optional<ByteSize> outputLimit;
        private Optional<OnOutputLimit> onOutputLimit;
        private Overflow overflow;
        private Optional<PtySize> pty;
        private List<String> secrets;

        Draft(ExecSpec spec) {
            argv = spec.argv;
            env = spec.env;
            cwd = spec.cwd;
            user = spec.user;
            timeout = spec.timeout;
            grace = spec.grace;
            stdin = spec.stdin;
            linger = spec.linger;
            capture = spec.capture;
            outputLimit = spec.outputLimit;
            onOutputLimit = spec.onOutputLimit;
            overflow = spec.overflow;
            pty = spec.pty;
            secrets = spec.secrets;
        }

        ExecSpec spec() {
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
                    pty,
                    secrets);
        }
    }
}
