package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.ExecJson;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson execs}: commands that run in sandboxes, whoever started them. */
@Command(
        name = "execs",
        description = "Commands that run in sandboxes, whoever started them.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ExecsCommand.Ls.class,
            ExecsCommand.Attach.class,
            ExecsCommand.Signal.class,
            ExecsCommand.Kill.class
        })
final class ExecsCommand extends Group {
    private static final String LOCAL =
            "a run on this host ends with its command: there is none to come back to.";

    /** Lists commands of a sandbox, as {@code ps} does. */
    @Command(
            name = "ls",
            description = "Lists the commands that run in a sandbox, newest first.",
            sortOptions = false,
            footer = {"", "Examples:", "  caisson execs ls build", "  caisson execs ls -a build"})
    static final class Ls extends PsCommand {
        @Override
        String local() {
            return LOCAL;
        }
    }

    /** Passes on what a command says, from its start, until it ends. */
    @Command(
            name = "attach",
            description = {
                "Passes on what a command says, from its start, until it ends. It goes on when this"
                        + " does not."
            },
            sortOptions = false,
            footer = {
                "",
                "Examples:",
                "  caisson execs attach ex0123456789abcdefghij",
                "  echo quit | caisson execs attach -i ex0123456789abcdefghij",
                "",
                "A command that has a terminal gets this one; ~. at the beginning of a line leaves"
                        + " it running.",
                "Exit status: that of the command, as with exec."
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Attach extends ServerCommand {
        @Option(names = "-i", description = "give the command this standard input")
        private boolean stdin;

        @Parameters(paramLabel = "EXEC", description = "id of a command")
        private String id;

        @Override
        String local() {
            return LOCAL;
        }

        @Override
        int run(ServiceClient client, Printer printer) {
            if (printer.json()) {
                client.execs().follow(id, new Items(main().streams(), printer)::show);
                return 0;
            }
            ExecJson exec = client.execs().find(id);
            boolean terminal = exec.pty() && exec.endedAt() == null && Streams.isTerminal(0);
            try (RemoteCaisson caisson = RemoteCaisson.open(config())) {
                ExecSession session = new ExecSession(main().streams(), client.execs()::find);
                try {
                    return terminal ? onTerminal(session, caisson) : watch(session, caisson);
                } catch (CaissonException e) {
                    if (session.readerGone()) {
                        return ExitStatus.READER_GONE;
                    }
                    throw e;
                }
            }
        }

        private int watch(ExecSession session, RemoteCaisson caisson) {
            return ExitStatus.of(session.watch(listener -> caisson.attach(id, listener), stdin));
        }

        private int onTerminal(ExecSession session, RemoteCaisson caisson) {
            Optional<ExecResult> result =
                    session.onTerminal(listener -> {
                        var exec = caisson.attach(id, listener);
                        exec.resize(ExecSession.size().rows(), ExecSession.size().cols());
                        return exec;
                    });
            if (result.isEmpty()) {
                main().streams().say("left it running; see: caisson execs attach " + id);
            }
            return result.map(ExitStatus::of).orElse(0);
        }
    }

    /** Sends a signal to a command. */
    @Command(
            name = "signal",
            description = "Sends a signal to the main process of a command.",
            sortOptions = false,
            footer = {
                "",
                "Examples:",
                "  caisson execs signal ex0123456789abcdefghij HUP",
                "  caisson execs signal --whole ex0123456789abcdefghij 15"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Signal extends ServerCommand {
        @Option(names = "--whole", description = "to all of its processes")
        private boolean whole;

        @Parameters(index = "0", paramLabel = "EXEC", description = "id of a command")
        private String id;

        @Parameters(index = "1", paramLabel = "SIGNAL", description = "name or number, 1 to 64")
        private String signal;

        @Override
        String local() {
            return LOCAL;
        }

        @Override
        int run(ServiceClient client, Printer printer) {
            OptionalInt number = Signals.number(signal);
            if (number.isEmpty()) {
                throw wrong("'" + signal + "' is no signal: write TERM, SIGTERM or 15.");
            }
            client.execs().signal(id, number.getAsInt(), whole);
            printer.made(Map.of("id", id, "signal", number.getAsInt()), id);
            return 0;
        }
    }

    /** Kills commands with all of their processes. */
    @Command(
            name = "kill",
            description = "Kills commands with all of their processes.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson execs kill ex0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Kill extends ServerCommand {
        @Parameters(paramLabel = "EXEC", arity = "1..*", description = "ids of commands")
        private List<String> ids;

        @Override
        String local() {
            return LOCAL;
        }

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                ExecJson killed = client.execs().kill(id);
                printer.made(killed, killed.id());
            }
            return 0;
        }
    }
}
