package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson runs}: runs that a server knows. */
@Command(
        name = "runs",
        description = "Runs that a server knows.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            RunsCommand.Ls.class,
            RunsCommand.Show.class,
            RunsCommand.Logs.class,
            RunsCommand.Get.class,
            RunsCommand.Rm.class
        })
final class RunsCommand extends Group {

    /** Lists runs, newest first. */
    @Command(
            name = "ls",
            description = "Lists runs, newest first.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson runs ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.runs()::list),
                    List.of("ID", "STATE", "TIER", "SANDBOX", "CREATED", "ENDED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.state(),
                                item.tier(),
                                item.sandbox(),
                                item.createdAt(),
                                item.endedAt()
                            });
            return 0;
        }
    }

    /** Shows a run and its result. */
    @Command(
            name = "show",
            description = "Shows a run and its result.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson runs show ru0123456789abcdefghij --json"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.runs().find(id));
            return 0;
        }
    }

    /** Shows the output of a run, and what comes until it ends. */
    @Command(
            name = "logs",
            description = "Shows the output of a run, and what comes until it ends.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson runs logs ru0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Logs extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "of the run")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            client.runs().follow(id, new Items(main().streams(), printer)::show);
            return 0;
        }
    }

    /** Brings the files that came out of a run to a folder here. */
    @Command(
            name = "get",
            description = "Brings the files that came out of a run to a folder here.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson runs get ru0123456789abcdefghij results"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Get extends ServerCommand {
        @Option(
                names = "--limit",
                paramLabel = "SIZE",
                defaultValue = "1g",
                converter = Converters.Size.class,
                description = "bytes of all files together (${DEFAULT-VALUE})")
        private ByteSize limit;

        @Parameters(paramLabel = "ID", description = "of the run")
        private String id;

        @Parameters(paramLabel = "FOLDER", description = "made when missing")
        private Path folder;

        @Override
        int run(ServiceClient client, Printer printer) {
            Transfers.landed(printer, client.runs().get(id, folder, limit, bytes -> {}));
            return 0;
        }
    }

    /** Ends runs and deletes what is kept of them. */
    @Command(
            name = "rm",
            description = "Ends runs and deletes what is kept of them.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson runs rm ru0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.runs().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
