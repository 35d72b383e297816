package dev.caisson.cli;

import dev.caisson.serve.Backup;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code caisson restore}: puts a backup into an empty data folder. */
@Command(
        name = "restore",
        description =
                "Puts what 'caisson backup' made into the data folder, which must be empty or"
                        + " absent. The server must not run.",
        sortOptions = false,
        footer = {"", "Example:", "  sudo caisson restore /backup/caisson-2026-11-30.tar"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class RestoreCommand extends LocalCommand {
    @Parameters(paramLabel = "FILE", description = "made by 'caisson backup'")
    private Path file;

    @Mixin private ServeOptions options;

    @Override
    public Integer call() {
        Backup.Summary summary = Backup.restore(options.settings(), file.toAbsolutePath());
        printer().object(summary);
        return 0;
    }
}
