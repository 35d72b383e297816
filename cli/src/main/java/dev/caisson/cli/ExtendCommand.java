package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson extend}: moves the end of a sandbox. */
@Command(
        name = "extend",
        description = "Moves the end of a sandbox to that long from now.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson extend build 30m"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ExtendCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Parameters(
            paramLabel = "TIME",
            converter = Converters.Time.class,
            description = "from now, for example 30m")
    private Duration time;

    @Override
    int run(ServiceClient client, Printer printer) {
        SandboxJson now = client.sandboxes().extend(id, time.toMillis());
        printer.made(now, "ends at " + now.endsAt());
        return 0;
    }
}
