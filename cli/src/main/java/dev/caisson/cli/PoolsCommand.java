package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson pools}: warm pools of sandboxes. */
@Command(
        name = "pools",
        description = "Warm pools of sandboxes.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            PoolsCommand.Ls.class,
            PoolsCommand.Show.class,
            PoolsCommand.Create.class,
            PoolsCommand.Resize.class,
            PoolsCommand.Rm.class
        })
final class PoolsCommand extends Group {

    /** Lists pools. */
    @Command(
            name = "ls",
            description = "Lists pools.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson pools ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.pools()::list),
                    List.of("ID", "NAME", "TEMPLATE", "TIER", "SIZE", "READY", "CLAIMED", "MISSED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.name(),
                                item.template(),
                                item.tier(),
                                item.size(),
                                item.ready(),
                                item.claimed(),
                                item.missed()
                            });
            return 0;
        }
    }

    /** Shows a pool. */
    @Command(
            name = "show",
            description = "Shows a pool.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson pools show small"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.pools().find(id));
            return 0;
        }
    }

    /** Makes a pool and prints its id. */
    @Command(
            name = "create",
            description = "Makes a pool and prints its id.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson pools create small --size 4 --memory 256m"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Option(names = "--size", paramLabel = "N", required = true, description = "kept ready")
        private int size;

        @Option(names = "--template", paramLabel = "NAME", description = "root file system")
        private @Nullable String template;

        @Option(names = "--tier", paramLabel = "TIER", description = "strength of the boundary")
        private @Nullable String tier;

        @ArgGroup(validate = false)
        private AskedLimits limits = new AskedLimits();

        @Option(names = "--root", description = "let commands be root inside")
        private boolean root;

        @Parameters(paramLabel = "NAME", description = "unique in the tenant")
        private String name;

        @Override
        int run(ServiceClient client, Printer printer) {
            PoolJson made =
                    client.pools()
                            .create(
                                    new PoolRequest(
                                            name,
                                            template,
                                            tier,
                                            limits.limits(),
                                            root ? "allowed" : null,
                                            size,
                                            null));
            printer.made(made, made.id());
            return 0;
        }
    }

    /** Changes how many a pool keeps ready. */
    @Command(
            name = "resize",
            description = "Changes how many a pool keeps ready.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson pools resize small 8"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Resize extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Parameters(paramLabel = "SIZE", description = "kept ready")
        private int size;

        @Override
        int run(ServiceClient client, Printer printer) {
            PoolJson now = client.pools().resize(id, size);
            printer.made(now, now.id());
            return 0;
        }
    }

    /** Deletes pools and what they keep. */
    @Command(
            name = "rm",
            description = "Deletes pools and what they keep.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson pools rm small"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.pools().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
