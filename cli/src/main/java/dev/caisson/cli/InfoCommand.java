package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import picocli.CommandLine.Command;

/** {@code caisson info}: tells about a server. */
@Command(
        name = "info",
        description =
                "Tells about the server: version, tiers and what is missing for them, limits, who"
                        + " you are.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson info --json"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class InfoCommand extends ServerCommand {
    @Override
    int run(ServiceClient client, Printer printer) {
        printer.object(client.info());
        return 0;
    }
}
