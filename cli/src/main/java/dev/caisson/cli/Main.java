package dev.caisson.cli;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.serve.WarmUp;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Reads the command line, hands over to a command and turns what happened into an exit status. */
@Command(
        name = "caisson",
        synopsisSubcommandLabel = "COMMAND",
        description = {
            "Runs code that nobody has read yet in a hardened sandbox.",
            "",
            "'run' works here alone. All other commands speak to a server: CAISSON_URL with"
                    + " CAISSON_API_KEY, or what 'caisson login' remembered.",
            ""
        },
        footer = {"", "'caisson help COMMAND' says more about a command."})
final class Main implements Runnable {
    private final Streams streams;
    private final Supplier<Caisson> opener;
    private final Map<String, String> env;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private CommandSpec spec;

    /**
     * A command line on those streams.
     *
     * @param opener opens what makes sandboxes, when a command needs it
     */
    Main(Streams streams, Supplier<Caisson> opener) {
        this(streams, opener, System.getenv());
    }

    /**
     * The same with another environment.
     *
     * @param env variables that name the server and the home folder
     */
    Main(Streams streams, Supplier<Caisson> opener, Map<String, String> env) {
        this.streams = streams;
        this.opener = opener;
        this.env = env;
    }

    /** Runs one command and ends the process with its status. */
    public static void main(String[] args) {
        if (args.length > 0 && args[0].equals("serve")) {
            WarmUp.begin();
        }
        QuickExit.exit(new Main(Streams.standard(), Caisson::open).execute(args));
    }

    Streams streams() {
        return streams;
    }

    Supplier<Caisson> opener() {
        return opener;
    }

    Map<String, String> env() {
        return env;
    }

    /** Without a command. */
    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "No command given.");
    }

    /**
     * Runs one command and returns the exit status. The plain ways to write the two that start
     * often are read by themselves.
     */
    int execute(String... args) {
        List<String> given = Commands.helpOfGroup(List.of(args));
        String command = given.isEmpty() ? "" : given.getFirst();
        try {
            if (command.equals("serve")) {
                Optional<ServeOptions> plain = ServeOptions.plain(given);
                if (plain.isPresent()) {
                    return Serve.run(plain.get().settings(), streams);
                }
            } else if (command.equals("run")) {
                Optional<RunCommand> plain = RunCommand.plain(this, given);
                if (plain.isPresent()) {
                    return plain.get().call();
                }
            }
        } catch (CaissonException e) {
            return report(e, given);
        } catch (ReaderGone e) {
            return ExitStatus.READER_GONE;
        } catch (RuntimeException e) {
            // As the library does with what it runs.
            e.printStackTrace(streams.printer());
            return 1;
        }
        return parse(given);
    }

    private int parse(List<String> given) {
        return line(given).execute(given.toArray(String[]::new));
    }

    /** The library that reads the line, with the command that is named first. */
    CommandLine line(List<String> given) {
        CommandLine line = new CommandLine(this);
        if (!given.isEmpty()) {
            Commands.add(line, given.getFirst());
        }
        line.setUsageHelpWidth(100)
                .setExpandAtFiles(false)
                .setStopAtPositional(true)
                .setOut(streams.printer())
                .setParameterExceptionHandler((e, parsed) -> refuse(e, given))
                .setExecutionExceptionHandler((e, failed, parsed) -> fail(e, given));
        Commands.mixOptionsAndWords(line);
        Commands.space(line);
        return line;
    }

    private int refuse(ParameterException e, List<String> args) {
        return report(BadOption.explain(e), args);
    }

    private int fail(Exception e, List<String> args) throws Exception {
        if (e instanceof CaissonException failure) {
            return report(failure, args);
        }
        if (e instanceof ReaderGone) {
            return ExitStatus.READER_GONE;
        }
        throw e;
    }

    private int report(CaissonException failure, List<String> args) {
        if (args.stream().takeWhile(arg -> !arg.equals("--")).noneMatch("--json"::equals)) {
            streams.say(Explain.failure(failure));
            return ExitStatus.of(failure.code());
        }
        try {
            streams.print(RunJson.error(failure, Optional.empty()));
            return ExitStatus.of(failure.code());
        } catch (ReaderGone e) {
            return ExitStatus.READER_GONE;
        }
    }
}
