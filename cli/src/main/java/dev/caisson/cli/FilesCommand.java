package dev.caisson.cli;

import dev.caisson.api.SandboxFiles;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.FileJson;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson files}: files in sandboxes. */
@Command(
        name = "files",
        description = "Files in sandboxes.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {FilesCommand.Ls.class, FilesCommand.Cat.class, FilesCommand.Rm.class})
final class FilesCommand extends Group {

    /** What is in a folder, for people or as JSON. */
    static void print(Printer printer, List<FileJson> files) {
        printer.list(
                files,
                List.of("MODE", "SIZE", "MODIFIED", "TYPE", "PATH", "TARGET"),
                file ->
                        new @Nullable Object[] {
                            String.format("%04o", file.mode()),
                            file.size(),
                            file.modifiedAt(),
                            file.type(),
                            file.path(),
                            file.target()
                        });
    }

    /** Lists a folder of a sandbox. */
    @Command(
            name = "ls",
            description = "Lists a folder of a sandbox.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson files ls build /work"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Option(
                names = {"-r", "--recursive"},
                description = "folders below as well")
        private boolean recursive;

        @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(
                index = "1",
                paramLabel = "PATH",
                arity = "0..1",
                defaultValue = "/work",
                description = "absolute or below /work (${DEFAULT-VALUE})")
        private String path;

        @Override
        int run(ServiceClient client, Printer printer) {
            print(printer, client.files().list(id, SandboxFiles.escape(path), recursive));
            return 0;
        }
    }

    /** Copies files of a sandbox to standard output. */
    @Command(
            name = "cat",
            description = "Copies files of a sandbox to standard output.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson files cat build result.txt"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Cat extends ServerCommand {
        @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(
                index = "1..*",
                paramLabel = "PATH",
                arity = "1..*",
                description = "absolute or below /work")
        private List<String> paths;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String path : paths) {
                client.files()
                        .read(id, SandboxFiles.escape(path), main().streams().out(), bytes -> {});
            }
            return 0;
        }
    }

    /** Removes files of a sandbox. */
    @Command(
            name = "rm",
            description = "Removes files of a sandbox.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson files rm -r build /work/tmp"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Option(
                names = {"-r", "--recursive"},
                description = "folders with all that is in them")
        private boolean recursive;

        @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
        private String id;

        @Parameters(
                index = "1..*",
                paramLabel = "PATH",
                arity = "1..*",
                description = "absolute or below /work")
        private List<String> paths;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String path : paths) {
                client.files().delete(id, SandboxFiles.escape(path), recursive);
            }
            return 0;
        }
    }
}
