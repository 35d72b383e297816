package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SandboxJson;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code caisson ls}: lists sandboxes. */
@Command(
        name = "ls",
        description = "Lists sandboxes that live, newest first.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson ls --label team=search", "  caisson ls -a --json"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LsCommand extends ServerCommand {
    private static final String LIVING =
            "creating,running,pausing,paused,resuming,snapshotting,ending";

    @Option(
            names = {"-a", "--all"},
            description = "also those that ended, as long as they are kept")
    private boolean all;

    @Option(names = "--state", paramLabel = "STATE", description = "only those in that state")
    private @Nullable String state;

    @Option(names = "--label", paramLabel = "K=V", description = "only those with that label")
    private @Nullable List<String> labels;

    @Override
    int run(ServiceClient client, Printer printer) {
        Query query = Query.LARGE;
        if (state != null) {
            query = query.with("state", state);
        } else if (!all) {
            query = query.with("state", LIVING);
        }
        for (Map.Entry<String, String> label : pairs("--label", labels).entrySet()) {
            query = query.with("label." + label.getKey(), label.getValue());
        }
        printer.list(
                ServiceClient.all(query, client.sandboxes()::list),
                List.of("ID", "NAME", "STATE", "TIER", "TEMPLATE", "CREATED", "ENDS", "LABELS"),
                sandbox ->
                        new @Nullable Object[] {
                            sandbox.id(),
                            sandbox.name(),
                            sandbox.state(),
                            sandbox.tier(),
                            sandbox.template(),
                            sandbox.createdAt(),
                            sandbox.endedAt() == null ? sandbox.endsAt() : sandbox.endedAt(),
                            labels(sandbox)
                        });
        return 0;
    }

    private static String labels(SandboxJson sandbox) {
        List<String> words = new ArrayList<>();
        new TreeMap<>(sandbox.labels()).forEach((name, value) -> words.add(name + "=" + value));
        return String.join(",", words);
    }
}
