package dev.caisson.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command about this machine. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
abstract class LocalCommand implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "print JSON")
    private boolean json;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    final Main main() {
        return (Main) spec.root().userObject();
    }

    final Printer printer() {
        return new Printer(main(), json);
    }
}
