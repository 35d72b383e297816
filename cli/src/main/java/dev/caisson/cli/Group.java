package dev.caisson.cli;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that only has others below it. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class Group implements Runnable {
    @Spec private CommandSpec spec;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "Say what to do: " + String.join(", ", spec.subcommands().keySet()) + ".");
    }
}
