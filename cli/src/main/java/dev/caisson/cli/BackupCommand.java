package dev.caisson.cli;

import dev.caisson.serve.Backup;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code caisson backup}: copies what a server on this machine keeps. */
@Command(
        name = "backup",
        description =
                "Copies what a server on this machine keeps into one file, while it runs: database,"
                        + " server key, results and output. The file holds secrets; its mode is"
                        + " 0600.",
        sortOptions = false,
        footer = {"", "Example:", "  sudo caisson backup /backup/caisson-$(date +%F).tar"})
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class BackupCommand extends LocalCommand {
    @Parameters(paramLabel = "FILE", description = "must not be there yet")
    private Path file;

    @Mixin private ServeOptions options;

    @Override
    public Integer call() {
        Backup.Summary summary = Backup.make(options.settings(), file.toAbsolutePath());
        printer().object(summary);
        return 0;
    }
}
