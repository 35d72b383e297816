package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson snapshot}: saved file systems of sandboxes. */
@Command(
        name = "snapshot",
        description = "Saved file systems of sandboxes.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            SnapshotCommand.Create.class,
            SnapshotCommand.Ls.class,
            SnapshotCommand.Rm.class
        })
final class SnapshotCommand extends Group {

    /** Saves the file system of a sandbox and prints the id of the snapshot. */
    @Command(
            name = "create",
            description = "Saves the file system of a sandbox and prints the id of the snapshot.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson snapshot create build --name ready"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Option(names = "--name", paramLabel = "NAME", description = "a name, unique in the tenant")
        private @Nullable String name;

        @Option(names = "--memory", description = "with its memory, where the tier can")
        private boolean memory;

        @Option(names = "--label", paramLabel = "K=V", description = "a label, repeatable")
        private @Nullable List<String> labels;

        @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            SnapshotJson made =
                    client.snapshots()
                            .create(
                                    id,
                                    new SnapshotRequest(
                                            name, pairs("--label", labels), memory ? true : null));
            printer.made(made, made.id());
            return 0;
        }
    }

    /** Lists snapshots, newest first. */
    @Command(
            name = "ls",
            description = "Lists snapshots, newest first.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson snapshot ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.snapshots()::list),
                    List.of("ID", "NAME", "SANDBOX", "TEMPLATE", "BYTES", "CREATED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.name(),
                                item.sandbox(),
                                item.template(),
                                item.bytes(),
                                item.createdAt()
                            });
            return 0;
        }
    }

    /** Deletes snapshots. */
    @Command(
            name = "rm",
            description = "Deletes snapshots.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson snapshot rm ready"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.snapshots().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
