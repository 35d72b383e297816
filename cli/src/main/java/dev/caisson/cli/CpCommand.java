package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxFiles;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.ServiceClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson cp}: files and folders into a sandbox and out of it. */
@Command(
        name = "cp",
        customSynopsis = {
            "caisson cp [options] HERE ID:PATH",
            "   or: caisson cp [options] ID:PATH HERE"
        },
        description =
                "Copies a file or folder into a sandbox or out of it. HERE may be - for standard"
                        + " input or output. Links are never copied.",
        sortOptions = false,
        footer = {
            "",
            "Examples:",
            "  caisson cp src build:/work/",
            "  caisson cp build:/work/out.tgz .",
            "  echo 42 | caisson cp - build:answer"
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CpCommand extends ServerCommand {
    /** {@code ID:PATH}. */
    static final Pattern INSIDE =
            Pattern.compile("([A-Za-z0-9_][A-Za-z0-9._-]*):(.+)", Pattern.DOTALL);

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
        Matcher source = INSIDE.matcher(from);
        Matcher target = INSIDE.matcher(to);
        boolean out = source.matches() && !Files.exists(Path.of(from));
        boolean in = target.matches();
        if (out == in) {
            throw wrong("One of both is ID:PATH, the other is here.");
        }
        Transfers transfers = new Transfers(main().streams());
        try (RemoteCaisson caisson = RemoteCaisson.open(config())) {
            if (in) {
                into(caisson.sandbox(target.group(1)), target.group(2), transfers);
            } else {
                outOf(caisson, source.group(1), source.group(2), transfers, printer);
            }
            return 0;
        } finally {
            transfers.clear();
        }
    }

    private void into(Sandbox sandbox, String path, Transfers transfers) {
        String inside = SandboxFiles.escape(path);
        SandboxFiles files = sandbox.files();
        if (from.equals("-")) {
            files.write(inside, main().streams().in(), 0644);
            return;
        }
        Path here = Path.of(from);
        if (!Files.exists(here)) {
            throw CaissonException.invalid("FROM", "There is no file or folder '" + from + "'.");
        }
        boolean folder =
                files.stat(inside).filter(at -> at.type() == FileType.DIRECTORY).isPresent();
        String target = folder && !inside.endsWith("/") ? inside + "/" : inside;
        files.put(here, target, transfers::progress);
    }

    private void outOf(
            RemoteCaisson caisson, String id, String path, Transfers transfers, Printer printer) {
        String inside = SandboxFiles.escape(path);
        SandboxFiles files = caisson.sandbox(id).files();
        if (to.equals("-")) {
            files.read(inside, main().streams().out());
            return;
        }
        Optional<FileInfo> what = files.stat(inside);
        Path here = Path.of(to);
        String name = name(path);
        boolean into = Files.isDirectory(here) || to.endsWith("/");
        Path target = into && !name.isEmpty() ? here.resolve(name) : here;
        if (what.filter(at -> at.type() == FileType.DIRECTORY).isPresent()) {
            Transfers.landed(
                    printer,
                    caisson.service().files().get(id, inside, target, limit, transfers::progress));
        } else {
            Transfers.file(target, () -> files.get(inside, target), out -> files.read(inside, out));
        }
    }

    /** The last part of a path inside; empty for one that has none. */
    static String name(String path) {
        String trimmed = path.replaceAll("/+$", "");
        String name = trimmed.substring(trimmed.lastIndexOf('/') + 1);
        return name.equals(".") || name.equals("..") ? "" : name;
    }
}
