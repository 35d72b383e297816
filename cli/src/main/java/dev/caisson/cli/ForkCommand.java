package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.ForkRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson fork}: copies a sandbox. */
@Command(
        name = "fork",
        description = "Makes copies of a sandbox from its file system, and prints their ids.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson fork build --count 3"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class ForkCommand extends ServerCommand {
    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Option(names = "--count", paramLabel = "N", description = "how many (1)")
    private @Nullable Integer count;

    @Option(names = "--label", paramLabel = "K=V", description = "a label of each, repeatable")
    private @Nullable List<String> labels;

    @Override
    int run(ServiceClient client, Printer printer) {
        printer.list(
                client.sandboxes().fork(id, new ForkRequest(count, pairs("--label", labels))),
                List.of("ID"),
                sandbox -> new @Nullable Object[] {sandbox.id()});
        return 0;
    }
}
