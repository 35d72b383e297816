package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson pause}: freezes a sandbox. */
@Command(
        name = "pause",
        description = "Freezes a sandbox: it keeps its memory and uses no CPU time.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson pause build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class PauseCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Option(names = "--disk", description = "keep its file system only")
    private boolean disk;

    @Override
    int run(ServiceClient client, Printer printer) {
        SandboxJson now =
                client.sandboxes().pause(id, new PauseRequest(disk ? Boolean.FALSE : null));
        printer.made(now, now.state());
        return 0;
    }
}
