package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.LinkJson;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson tickets}: one-time tickets for browsers. */
@Command(
        name = "tickets",
        description = "One-time tickets for browsers.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {TicketsCommand.Exec.class, TicketsCommand.Port.class})
final class TicketsCommand extends Group {

    /** Makes a ticket for the terminal of a command; valid 30 seconds, once. */
    @Command(
            name = "exec",
            description = "Makes a ticket for the terminal of a command; valid 30 seconds, once.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tickets exec ex0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Exec extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "of the exec")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            LinkJson made = client.execs().ticket(id);
            printer.made(made, made.url());
            return 0;
        }
    }

    /** Makes a ticket for a port of a sandbox; valid 30 seconds, once. */
    @Command(
            name = "port",
            description = "Makes a ticket for a port of a sandbox; valid 30 seconds, once.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tickets port build 8080"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Port extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(paramLabel = "PORT", description = "1 to 65535")
        private String port;

        @Override
        int run(ServiceClient client, Printer printer) {
            LinkJson made = client.ports().ticket(id, port(port));
            printer.made(made, made.url());
            return 0;
        }
    }
}
