package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SandboxJson;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson rm}: ends sandboxes. */
@Command(
        name = "rm",
        description =
                "Ends sandboxes: all their processes are dead and their files gone when this"
                        + " returns.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson rm build sb0123456789abcdefghij"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class RmCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
    private List<String> ids;

    @Override
    int run(ServiceClient client, Printer printer) {
        for (String id : ids) {
            SandboxJson ended = client.sandboxes().delete(id);
            printer.made(ended, ended.id());
        }
        return 0;
    }
}
