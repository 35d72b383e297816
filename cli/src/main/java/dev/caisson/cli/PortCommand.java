package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson port}: ports of sandboxes that clients can reach. */
@Command(
        name = "port",
        description = "Ports of sandboxes that clients can reach.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {PortCommand.Open.class, PortCommand.Ls.class, PortCommand.Close.class})
final class PortCommand extends Group {

    /** Opens a port of a sandbox and prints where it is served. */
    @Command(
            name = "open",
            description = "Opens a port of a sandbox and prints where it is served.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson port open build 8080"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Open extends ServerCommand {
        @Option(names = "--public", description = "without a token, where the policy allows it")
        private boolean open;

        @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(paramLabel = "PORT", description = "1 to 65535")
        private String port;

        @Override
        int run(ServiceClient client, Printer printer) {
            PortJson opened =
                    client.ports().open(id, new PortRequest(port(port), open ? "public" : null));
            String token = opened.token();
            printer.made(opened, token == null ? opened.url() : opened.url() + "\t" + token);
            return 0;
        }
    }

    /** Lists the open ports of a sandbox. */
    @Command(
            name = "ls",
            description = "Lists the open ports of a sandbox.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson port ls build"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    client.ports().list(id),
                    List.of("PORT", "ACCESS", "URL"),
                    item -> new @Nullable Object[] {item.port(), item.access(), item.url()});
            return 0;
        }
    }

    /** Closes a port; what is connected is cut. */
    @Command(
            name = "close",
            description = "Closes a port; what is connected is cut.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson port close build 8080"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Close extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(paramLabel = "PORT", description = "1 to 65535")
        private String port;

        @Override
        int run(ServiceClient client, Printer printer) {
            client.ports().close(id, port(port));
            return 0;
        }
    }
}
