package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson webhooks}: webhooks: events sent to a URL. */
@Command(
        name = "webhooks",
        description = "Webhooks: events sent to a URL.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            WebhooksCommand.Ls.class,
            WebhooksCommand.Create.class,
            WebhooksCommand.Rm.class,
            WebhooksCommand.DeadLetters.class,
            WebhooksCommand.Replay.class
        })
final class WebhooksCommand extends Group {

    /** Lists webhooks. */
    @Command(
            name = "ls",
            description = "Lists webhooks.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson webhooks ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.webhooks()::list),
                    List.of("ID", "URL", "STATE", "TYPES", "CURSOR", "DEAD", "ERROR"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.url(),
                                item.state(),
                                item.types(),
                                item.cursor(),
                                item.deadLetters(),
                                item.lastError()
                            });
            return 0;
        }
    }

    /** Makes a webhook and prints its id and its secret, which is shown this once. */
    @Command(
            name = "create",
            description =
                    "Makes a webhook and prints its id and its secret, which is shown this once.",
            sortOptions = false,
            footer = {
                "",
                "Example:",
                "  caisson webhooks create https://example.org/hook --type sandbox.ended"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Option(names = "--type", paramLabel = "TYPE", description = "of events, repeatable (all)")
        private @Nullable List<String> types;

        @Parameters(paramLabel = "URL", description = "http or https")
        private String url;

        @Override
        int run(ServiceClient client, Printer printer) {
            WebhookJson made =
                    client.webhooks()
                            .create(
                                    new WebhookRequest(
                                            url, types == null ? List.of() : types, null));
            printer.item(made, made.id(), made.secret());
            return 0;
        }
    }

    /** Deletes webhooks. */
    @Command(
            name = "rm",
            description = "Deletes webhooks.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson webhooks rm wh0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.webhooks().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }

    /** Lists events whose delivery was given up. */
    @Command(
            name = "dead-letters",
            description = "Lists events whose delivery was given up.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson webhooks dead-letters wh0123456789abcdefghij"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class DeadLetters extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "of the webhook")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    client.webhooks().deadLetters(id), EventsCommand.HEADS, EventsCommand::cells);
            return 0;
        }
    }

    /** Delivers again what is behind a seq. */
    @Command(
            name = "replay",
            description = "Delivers again what is behind a seq.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson webhooks replay wh0123456789abcdefghij 1200"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Replay extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "of the webhook")
        private String id;

        @Parameters(paramLabel = "SEQ", description = "the last that needs no delivery")
        private long after;

        @Override
        int run(ServiceClient client, Printer printer) {
            client.webhooks().replay(id, after);
            return 0;
        }
    }
}
