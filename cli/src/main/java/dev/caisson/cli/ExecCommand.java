package dev.caisson.cli;

import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.PtySize;
import dev.caisson.api.Sandbox;
import dev.caisson.api.User;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PtyJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson exec}: a command in a sandbox. */
@Command(
        name = "exec",
        customSynopsis = "caisson exec [options] ID [--] COMMAND [ARGS...]",
        description = "Runs a command in a sandbox and passes its output on.",
        sortOptions = false,
        footer = {
            "",
            "Examples:",
            "  caisson exec build -- make -j2",
            "  caisson exec -it build python3",
            "  tar c src | caisson exec -i build -- tar x",
            "",
            "On a terminal, ~. at the beginning of a line leaves the command running.",
            "Exit status: the program's; 124 time limit, 125 Caisson itself, 126 cannot execute,"
                    + " 127 not found, 128+n ended by signal n."
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
class ExecCommand extends ServerCommand {
    @Option(names = "-i", description = "give the command this standard input (empty)")
    private boolean stdin;

    @Option(names = "-t", description = "give the command a terminal; goes with -i")
    private boolean terminal;

    @Option(names = "-d", description = "print its id and leave it running")
    private boolean detach;

    @Option(names = "--env", paramLabel = "K=V", description = "set a variable, repeatable")
    private @Nullable List<String> env;

    @Option(names = "--workdir", paramLabel = "PATH", description = "working directory (/work)")
    private @Nullable String workdir;

    @Option(names = "--user", paramLabel = "NAME", description = "who runs it inside (sandbox)")
    private @Nullable String user;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "wall time (as the sandbox says)")
    private @Nullable Duration timeout;

    @Option(names = "--linger", description = "what it leaves behind lives on")
    private boolean linger;

    @Option(
            names = "--secret",
            paramLabel = "NAME",
            description = "a secret of the server that requests get while it runs, repeatable")
    private @Nullable List<String> secrets;

    @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Parameters(index = "1..*", paramLabel = "COMMAND", description = "program and arguments")
    private List<String> words = new ArrayList<>();

    /** What is run when no command is given; empty: that is wrong. */
    List<String> otherwise() {
        return List.of();
    }

    boolean wantsTerminal() {
        return terminal;
    }

    @Override
    int run(ServiceClient client, Printer printer) {
        ExecSpec spec = spec();
        if (detach) {
            ExecJson exec = client.execs().start(id, request(spec));
            printer.made(exec, exec.id());
            return 0;
        }
        try (RemoteCaisson caisson = RemoteCaisson.open(config())) {
            ExecSession session = new ExecSession(main().streams(), client.execs()::find);
            Sandbox sandbox = caisson.sandbox(id);
            try {
                return wantsTerminal()
                        ? onTerminal(session, sandbox, spec)
                        : onPipes(session, sandbox, spec);
            } catch (dev.caisson.api.CaissonException e) {
                if (session.readerGone()) {
                    return ExitStatus.READER_GONE;
                }
                throw e;
            }
        }
    }

    private static int onPipes(ExecSession session, Sandbox sandbox, ExecSpec spec) {
        return ExitStatus.of(
                session.onPipes(listener -> sandbox.start(spec, listener), spec.stdin()));
    }

    private int onTerminal(ExecSession session, Sandbox sandbox, ExecSpec spec) {
        ExecSpec sized = spec.withPty(ExecSession.size());
        Optional<ExecResult> result =
                session.onTerminal(listener -> sandbox.start(sized, listener));
        if (result.isEmpty()) {
            main().streams().say("left it running; see: caisson ps " + Clean.text(id));
        }
        return result.map(ExitStatus::of).orElse(0);
    }

    private ExecSpec spec() {
        List<String> command = words.isEmpty() ? otherwise() : words;
        if (!words.isEmpty() && words.getFirst().equals("--")) {
            command = words.subList(1, words.size());
        }
        if (command.isEmpty()) {
            throw wrong("No command given: write ID -- COMMAND.");
        }
        ExecSpec spec =
                ExecSpec.of(command)
                        .withCapture(false)
                        .withStdin(stdin)
                        .withLinger(linger)
                        .withEnv(variables(env))
                        .withSecrets(SecretOptions.kept(secrets));
        spec = workdir == null ? spec : spec.withCwd(workdir);
        spec = timeout == null ? spec : spec.withTimeout(timeout);
        return user == null ? spec : spec.withUser(user(user));
    }

    private static User user(String given) {
        return given.matches("[0-9]{1,5}")
                ? new User(Integer.parseInt(given), Integer.parseInt(given))
                : User.named(given);
    }

    /** Of one that is left running; what it reads comes from whoever attaches. */
    private ExecRequest request(ExecSpec spec) {
        @Nullable PtySize size = wantsTerminal() ? ExecSession.size() : null;
        return new ExecRequest(
                spec.argv(),
                null,
                spec.env(),
                workdir,
                user,
                timeout == null ? null : timeout.toMillis(),
                null,
                (stdin && size == null) ? true : null,
                null,
                linger ? true : null,
                size == null ? null : new PtyJson(size.rows(), size.cols()),
                null,
                null,
                spec.secrets());
    }
}
