package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.SandboxFiles;
import dev.caisson.client.ServiceClient;
import dev.caisson.client.VolumesClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson volumes cp}: files and folders into a volume and out of it. */
@Command(
        name = "cp",
        customSynopsis = {
            "caisson volumes cp [options] HERE ID:PATH",
            "   or: caisson volumes cp [options] ID:PATH HERE"
        },
        description =
                "Copies a file or folder into a volume or out of it; refused while a sandbox writes"
                        + " to it. HERE may be - for standard input or output. Links are never"
                        + " copied.",
        sortOptions = false,
        footer = {
            "",
            "Examples:",
            "  caisson volumes cp models data:/models",
            "  caisson volumes cp data:/result.csv ."
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class VolumesCopyCommand extends ServerCommand {
    @Option(
            names = "--limit",
            paramLabel = "SIZE",
            defaultValue = "16g",
            converter = Converters.Size.class,
            description = "bytes that a folder may bring out (${DEFAULT-VALUE})")
    private ByteSize limit;

    @Parameters(paramLabel = "FROM", description = "a file or folder, ID:PATH or -")
    private String from;

    @Parameters(paramLabel = "TO", description = "where to: ID:PATH, a path or -")
    private String to;

    @Override
    int run(ServiceClient client, Printer printer) {
        Matcher source = CpCommand.INSIDE.matcher(from);
        Matcher target = CpCommand.INSIDE.matcher(to);
        boolean out = source.matches() && !Files.exists(Path.of(from));
        boolean in = target.matches();
        if (out == in) {
            throw wrong("One of both is ID:PATH, the other is here.");
        }
        Transfers transfers = new Transfers(main().streams());
        try {
            if (in) {
                into(client.volumes(), target.group(1), target.group(2), transfers);
            } else {
                outOf(client.volumes(), source.group(1), source.group(2), transfers, printer);
            }
            return 0;
        } finally {
            transfers.clear();
        }
    }

    private void into(VolumesClient volumes, String id, String path, Transfers transfers) {
        String inside = SandboxFiles.escape(path);
        if (from.equals("-")) {
            volumes.write(id, inside, main().streams().in(), 0644);
            return;
        }
        Path here = Path.of(from);
        if (!Files.exists(here)) {
            throw CaissonException.invalid("FROM", "There is no file or folder '" + from + "'.");
        }
        boolean folder = folder(volumes, id, inside);
        String target = folder && !inside.endsWith("/") ? inside + "/" : inside;
        volumes.put(id, here, target, transfers::progress);
    }

    private static boolean folder(VolumesClient volumes, String id, String path) {
        try {
            return volumes.stat(id, path).type().equals("directory");
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return false; // the volume itself may be what is not there: the copy says so
            }
            throw e;
        }
    }

    private void outOf(
            VolumesClient volumes, String id, String path, Transfers transfers, Printer printer) {
        String inside = SandboxFiles.escape(path);
        if (to.equals("-")) {
            volumes.read(id, inside, main().streams().out());
            return;
        }
        String type = volumes.stat(id, inside).type();
        Path here = Path.of(to);
        String name = CpCommand.name(path);
        boolean into = Files.isDirectory(here) || to.endsWith("/");
        Path target = into && !name.isEmpty() ? here.resolve(name) : here;
        if (type.equals("directory")) {
            Transfers.landed(printer, volumes.get(id, inside, target, limit, transfers::progress));
        } else {
            Transfers.file(
                    target,
                    () -> volumes.get(id, inside, target),
                    out -> volumes.read(id, inside, out));
        }
    }
}
