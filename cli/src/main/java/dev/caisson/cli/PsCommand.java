package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ResultJson;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson ps}: lists commands of a sandbox. */
@Command(
        name = "ps",
        description = "Lists the commands that run in a sandbox, newest first.",
        sortOptions = false,
        footer = {"", "Example:", "  caisson ps build", "  caisson ps -a build"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
class PsCommand extends ServerCommand {
    @Option(
            names = {"-a", "--all"},
            description = "also those that ended")
    private boolean all;

    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Override
    int run(ServiceClient client, Printer printer) {
        printer.list(
                ServiceClient.all(Query.LARGE, query -> client.execs().list(id, query)).stream()
                        .filter(exec -> all || exec.endedAt() == null)
                        .toList(),
                List.of("EXEC", "STATE", "PID", "USER", "STARTED", "EXIT", "COMMAND"),
                exec ->
                        new @Nullable Object[] {
                            exec.id(),
                            exec.state(),
                            exec.pid(),
                            exec.user(),
                            exec.createdAt(),
                            exit(exec),
                            String.join(" ", exec.argv())
                        });
        return 0;
    }

    private static @Nullable Object exit(ExecJson exec) {
        ResultJson result = exec.result();
        if (result == null) {
            return exec.error() == null ? null : exec.error().code();
        }
        return result.exitCode() == null ? result.reason() : result.exitCode();
    }
}
