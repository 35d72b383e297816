package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code caisson usage}: shows what was used. */
@Command(
        name = "usage",
        description = "Shows what was used, by the hour.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson usage --from 2026-11-01T00:00:00Z --by sandbox"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class UsageCommand extends ServerCommand {
    @Option(names = "--from", paramLabel = "TIME", description = "RFC 3339, for example in UTC")
    private @Nullable Instant from;

    @Option(names = "--to", paramLabel = "TIME", description = "RFC 3339")
    private @Nullable Instant to;

    @Option(
            names = "--by",
            paramLabel = "WHAT",
            description = "tenant, sandbox, session or exec (tenant)")
    private @Nullable String by;

    @Option(names = "--sandbox", paramLabel = "ID", description = "of one sandbox")
    private @Nullable String sandbox;

    @Override
    int run(ServiceClient client, Printer printer) {
        printer.list(
                client.usage(Optional.ofNullable(from), Optional.ofNullable(to), by, sandbox),
                List.of(
                        "HOUR",
                        "TENANT",
                        "SANDBOX",
                        "EXEC",
                        "CPU_MS",
                        "MEMORY_BS",
                        "DISK_BS",
                        "OUTPUT",
                        "EXECS"),
                row ->
                        new @Nullable Object[] {
                            row.hour(),
                            row.tenant(),
                            row.sandbox(),
                            row.exec(),
                            row.cpuMillis(),
                            row.memoryByteSeconds(),
                            row.diskByteSeconds(),
                            row.outputBytes(),
                            row.execs()
                        });
        return 0;
    }
}
