package dev.caisson.cli;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Reads the command line, hands over to a command and turns what happened into an exit status. */
@Command(
        name = "caisson",
        synopsisSubcommandLabel = "COMMAND",
        description = "Runs code that nobody has read yet in a hardened sandbox.",
        subcommands = {RunCommand.class, ServeCommand.class, VersionCommand.class, HelpCommand.class},
        footer = {"", "'caisson help COMMAND' says more about a command."})
final class Main implements Runnable {
    private final Streams streams;
    private final Supplier<Caisson> opener;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private CommandSpec spec;

    /**
     * A command line on those streams.
     *
     * @param opener opens what makes sandboxes, when a command needs it
     */
    Main(Streams streams, Supplier<Caisson> opener) {
        this.streams = streams;
        this.opener = opener;
    }

    /** Runs one command and ends the process with its status. */
    public static void main(String[] args) {
        QuickExit.exit(new Main(Streams.standard(), Caisson::open).execute(args));
    }

    Streams streams() {
        return streams;
    }

    Supplier<Caisson> opener() {
        return opener;
    }

    /** Without a command. */
    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "No command given.");
    }

    /** Runs one command and returns the exit status. */
    int execute(String... args) {
        List<String> given = List.of(args);
        return new CommandLine(this)
                .setUsageHelpWidth(100)
                .setStopAtPositional(true)
                .setOut(streams.printer())
                .setParameterExceptionHandler((e, parsed) -> refuse(e, given))
                .setExecutionExceptionHandler((e, failed, parsed) -> fail(e, given))
                .execute(args);
    }

    private int refuse(ParameterException e, List<String> args) {
        return report(BadOption.explain(e), args);
    }

    private int fail(Exception e, List<String> args) throws Exception {
        if (e instanceof CaissonException failure) {
            return report(failure, args);
        }
        throw e;
    }

    private int report(CaissonException failure, List<String> args) {
        if (args.stream().takeWhile(arg -> !arg.equals("--")).anyMatch("--json"::equals)) {
            streams.print(RunJson.error(failure, Optional.empty()));
        } else {
            streams.say(Explain.failure(failure));
        }
        return ExitStatus.of(failure.code());
    }
}
