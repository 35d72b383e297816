package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SandboxJson;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson resume}: lets a sandbox go on. */
@Command(
        name = "resume",
        description = "Lets a paused sandbox go on.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson resume build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ResumeCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Override
    int run(ServiceClient client, Printer printer) {
        SandboxJson now = client.sandboxes().resume(id);
        printer.made(now, now.state());
        return 0;
    }
}
