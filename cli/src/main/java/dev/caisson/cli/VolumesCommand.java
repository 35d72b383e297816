package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.SandboxFiles;
import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson volumes}: volumes, which outlive sandboxes. */
@Command(
        name = "volumes",
        description = "Volumes, which outlive sandboxes.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            VolumesCommand.Ls.class,
            VolumesCommand.Show.class,
            VolumesCommand.Create.class,
            VolumesCommand.Files.class,
            VolumesCopyCommand.class,
            VolumesCommand.Rm.class
        })
final class VolumesCommand extends Group {

    /** Lists volumes, newest first. */
    @Command(
            name = "ls",
            description = "Lists volumes, newest first.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson volumes ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.volumes()::list),
                    List.of("ID", "NAME", "LIMIT", "USED", "SANDBOXES", "CREATED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.name(),
                                item.diskBytes(),
                                item.allocatedBytes(),
                                item.sandboxes(),
                                item.createdAt()
                            });
            return 0;
        }
    }

    /** Shows a volume. */
    @Command(
            name = "show",
            description = "Shows a volume.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson volumes show data"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.volumes().find(id));
            return 0;
        }
    }

    /** Makes a volume and prints its id. */
    @Command(
            name = "create",
            description = "Makes a volume and prints its id.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson volumes create data --disk 10g"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Option(
                names = "--disk",
                paramLabel = "SIZE",
                converter = Converters.Size.class,
                description = "how much it may hold (1g)")
        private @Nullable ByteSize disk;

        @Option(
                names = "--inodes",
                paramLabel = "N",
                converter = Converters.Count.class,
                description = "how many files it may hold")
        private @Nullable Long inodes;

        @Option(names = "--label", paramLabel = "K=V", description = "a label, repeatable")
        private @Nullable List<String> labels;

        @Parameters(paramLabel = "NAME", description = "unique in the tenant")
        private String name;

        @Override
        int run(ServiceClient client, Printer printer) {
            VolumeJson made =
                    client.volumes()
                            .create(
                                    new VolumeRequest(
                                            name,
                                            disk == null ? null : disk.bytes(),
                                            inodes,
                                            pairs("--label", labels)));
            printer.made(made, made.id());
            return 0;
        }
    }

    /** Lists a folder of a volume. */
    @Command(
            name = "files",
            description = "Lists a folder of a volume.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson volumes files data"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Files extends ServerCommand {
        @Option(
                names = {"-r", "--recursive"},
                description = "folders below as well")
        private boolean recursive;

        @Parameters(index = "0", paramLabel = "ID", description = "id or name of a volume")
        private String id;

        @Parameters(
                index = "1",
                paramLabel = "PATH",
                arity = "0..1",
                defaultValue = "/",
                description = "in the volume (${DEFAULT-VALUE})")
        private String path;

        @Override
        int run(ServiceClient client, Printer printer) {
            FilesCommand.print(
                    printer, client.volumes().list(id, SandboxFiles.escape(path), recursive));
            return 0;
        }
    }

    /** Deletes volumes and all that is in them. */
    @Command(
            name = "rm",
            description = "Deletes volumes and all that is in them.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson volumes rm data"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.volumes().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
