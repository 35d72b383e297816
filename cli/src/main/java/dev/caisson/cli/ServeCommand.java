package dev.caisson.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** Serves sandboxes over HTTP. */
@Command(
        name = "serve",
        description = "Serves sandboxes over HTTP to many tenants.",
        footer = {
            "",
            "Started as root it starts the launcher, then serves as the user caisson.",
            "The first start makes an admin key: it is shown once on a terminal, and kept in the",
            "file admin.key of the data folder, which only its owner may read.",
            "",
            "Example:",
            "  sudo caisson serve",
            "  sudo caisson serve --listen 0.0.0.0:3900 --set hosts=sandboxes.example"
        })
final class ServeCommand implements Callable<Integer> {
    @ParentCommand
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private Main main;

    @Mixin
    @SuppressWarnings("NullAway.Init") // picocli sets it
    private ServeOptions options;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    ServeOptions options() {
        return options;
    }

    @Override
    public Integer call() {
        return Serve.run(options.settings(), main.streams());
    }
}
