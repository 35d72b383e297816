package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson show}: shows a sandbox. */
@Command(
        name = "show",
        description = "Shows all about a sandbox: limits, labels, when and why it ends.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson show build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ShowCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Override
    int run(ServiceClient client, Printer printer) {
        printer.object(client.sandboxes().find(id));
        return 0;
    }
}
