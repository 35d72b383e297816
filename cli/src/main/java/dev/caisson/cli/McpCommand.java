package dev.caisson.cli;

import dev.caisson.api.Caisson;
import dev.caisson.client.McpBridge;
import dev.caisson.client.RemoteConfig;
import dev.caisson.mcp.CaissonBackend;
import dev.caisson.mcp.McpStdio;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code caisson mcp}: the Model Context Protocol on standard input and output. */
@Command(
        name = "mcp",
        description =
                "Serves the Model Context Protocol on standard input and output: in sandboxes of"
                        + " the server that CAISSON_URL names, or else of this machine.",
        footer = {"", "Example:", "  claude mcp add caisson -- caisson mcp"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class McpCommand implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "show this")
    @SuppressWarnings("UnusedVariable") // picocli asks its own model
    private boolean help;

    @Override
    public Integer call() throws IOException {
        Main main = (Main) spec.root().userObject();
        if (!main.env().getOrDefault("CAISSON_URL", "").isBlank()) {
            OutputStream out = new FileOutputStream(FileDescriptor.out);
            System.setOut(System.err); // a foreign line would break the protocol
            McpBridge.serve(RemoteConfig.of(main.env()), System.in, out);
            return 0;
        }
        try (Caisson caisson = main.opener().get()) {
            McpStdio.serveProcess(new CaissonBackend(caisson));
        }
        return 0;
    }
}
