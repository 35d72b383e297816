package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.EventJson;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code caisson events}: shows what happened. */
@Command(
        name = "events",
        description = "Shows what happened, oldest first; with --json -f one object a line.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson events -f --type sandbox.ended"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class EventsCommand extends ServerCommand {
    static final List<String> HEADS =
            List.of("SEQ", "TIME", "TYPE", "SANDBOX", "EXEC", "ACTOR", "REASON");

    @Option(
            names = {"-f", "--follow"},
            description = "what comes as well, until it is interrupted")
    private boolean follow;

    @Option(names = "--after", paramLabel = "SEQ", description = "only what is behind it (0)")
    private long after;

    @Option(names = "--limit", paramLabel = "N", defaultValue = "200", description = "how many")
    private int limit;

    @Option(names = "--sandbox", paramLabel = "ID", description = "of one sandbox")
    private @Nullable String sandbox;

    @Option(names = "--type", paramLabel = "TYPE", description = "of one type")
    private @Nullable String type;

    @Override
    int run(ServiceClient client, Printer printer) {
        if (follow) {
            client.events()
                    .follow(
                            after,
                            sandbox,
                            type,
                            event -> {
                                printer.item(event, cells(event));
                                return false;
                            });
        } else {
            printer.list(
                    client.events().list(after, limit, sandbox, type), HEADS, EventsCommand::cells);
        }
        return 0;
    }

    static @Nullable Object[] cells(EventJson event) {
        return new @Nullable Object[] {
            event.seq(),
            event.time(),
            event.type(),
            event.sandbox(),
            event.exec(),
            event.actor() == null ? null : event.actor().subject(),
            event.reason()
        };
    }
}
