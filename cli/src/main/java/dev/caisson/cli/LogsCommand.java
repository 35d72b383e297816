package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson logs}: shows kept output. */
@Command(
        name = "logs",
        description = "Shows the output that is kept of all commands of a sandbox.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson logs -f build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LogsCommand extends ServerCommand {
    @Option(
            names = {"-f", "--follow"},
            description = "what comes as well, until the sandbox ends")
    private boolean follow;

    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Override
    int run(ServiceClient client, Printer printer) {
        client.sandboxes().logs(id, follow, new Items(main().streams(), printer)::show);
        return 0;
    }
}
