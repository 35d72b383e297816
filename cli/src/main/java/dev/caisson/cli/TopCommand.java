package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson top}: shows what sandboxes use. */
@Command(
        name = "top",
        description = "Shows what sandboxes use now; on a terminal again every two seconds.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson top", "  caisson top --once build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class TopCommand extends ServerCommand {
    private static final Duration PAUSE = Duration.ofSeconds(2);

    @Option(names = "--once", description = "show it once")
    private boolean once;

    @Parameters(paramLabel = "ID", arity = "0..*", description = "ids or names (all that run)")
    private @Nullable List<String> ids;

    @Override
    int run(ServiceClient client, Printer printer) {
        boolean again = !once && !printer.json() && main().streams().outIsTerminal();
        do {
            List<MetricsJson> metrics = metrics(client);
            if (again) {
                main().streams().print("\033[H\033[2J");
            }
            show(metrics, printer);
        } while (again && pause());
        return 0;
    }

    private List<MetricsJson> metrics(ServiceClient client) {
        List<String> wanted =
                ids == null
                        ? ServiceClient.all(
                                        Query.LARGE.with("state", "running"),
                                        client.sandboxes()::list)
                                .stream()
                                .map(SandboxJson::id)
                                .toList()
                        : ids;
        List<MetricsJson> metrics = new ArrayList<>();
        for (String id : wanted) {
            try {
                metrics.add(client.sandboxes().metrics(id));
            } catch (CaissonException e) {
                // One that ended since is not shown; one that was named is missed.
                if (ids != null) {
                    throw e;
                }
            }
        }
        return metrics;
    }

    private static void show(List<MetricsJson> metrics, Printer printer) {
        printer.list(
                metrics,
                List.of("SANDBOX", "CPU", "MEMORY", "LIMIT", "PEAK", "PIDS", "DISK", "PAUSED"),
                now ->
                        new @Nullable Object[] {
                            now.sandbox(),
                            Duration.ofMillis(now.cpuMillis()).toString().substring(2),
                            Units.bytes(now.memoryBytes()),
                            Units.bytes(now.memoryLimitBytes()),
                            Units.bytes(now.peakMemoryBytes()),
                            now.pids() + "/" + now.pidsLimit(),
                            Units.bytes(now.diskBytes()),
                            now.paused() ? "yes" : ""
                        });
    }

    private static boolean pause() {
        try {
            Thread.sleep(PAUSE);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
