package dev.caisson.cli;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.ParameterException;

/** Reads the command line, hands over to a command and turns what happened into an exit status. */
@Command(
        name = "caisson",
        synopsisSubcommandLabel = "COMMAND",
        description = "Runs code that nobody has read yet in a hardened sandbox.",
        subcommands = {RunCommand.class, VersionCommand.class, HelpCommand.class},
        footer = {"", "'caisson help COMMAND' says more about a command."})
final class Main {
    private final Streams streams;
    private final Supplier<Caisson> opener;

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
        System.exit(new Main(Streams.standard(), Caisson::open).run(args));
    }

    Streams streams() {
        return streams;
    }

    Supplier<Caisson> opener() {
        return opener;
    }

    /** Runs one command and returns the exit status. */
    int run(String... args) {
        CommandLine line = new CommandLine(this)
                .setUsageHelpWidth(100)
                .setStopAtPositional(true)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler((e, given) -> refuse(e, List.of(args)))
                .setExecutionExceptionHandler((e, failed, parsed) -> fail(e, List.of(args)));
        if (args.length == 0) {
            streams.say("no command given. " + line.getUsageMessage().strip());
            return ExitStatus.OWN_ERROR;
        }
        return line.execute(args);
    }

    /** A command line that makes no sense: one line says what is wrong and what is allowed. */
    private int refuse(ParameterException e, List<String> args) {
        String command = e.getCommandLine().getCommandSpec().qualifiedName(" help ");
        return report(
                CaissonException.of(dev.caisson.api.ErrorCode.INVALID, BadOption.describe(e))
                        .withRemedy("See: " + command.replace("caisson help ", "caisson help ")),
                args);
    }

    private int fail(Exception e, List<String> args) throws Exception {
        if (e instanceof CaissonException failure) {
            return report(failure, args);
        }
        if (e instanceof UncheckedIOException) {
            return ExitStatus.READER_GONE;
        }
        throw e;
    }

    private int report(CaissonException failure, List<String> args) {
        if (wantsJson(args)) {
            streams.print(RunJson.error(failure, Optional.empty()));
        }
        streams.say(failure.message());
        return ExitStatus.of(failure.code());
    }

    /** Before the program and its own arguments. */
    private static boolean wantsJson(List<String> args) {
        return args.stream().takeWhile(arg -> !arg.equals("--")).anyMatch("--json"::equals);
    }
}
