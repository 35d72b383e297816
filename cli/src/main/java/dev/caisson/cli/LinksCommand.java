package dev.caisson.cli;

import dev.caisson.api.SandboxFiles;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.LinkJson;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson links}: signed links to files, for those who have no key. */
@Command(
        name = "links",
        description =
                "Makes a link to a file of a sandbox and prints it. Whoever has it can read that"
                        + " file, or with --put write it, without a key, until it expires or the"
                        + " sandbox ends or pauses.",
        sortOptions = false,
        footer = {
            "",
            "Examples:",
            "  caisson links build result.txt",
            "  curl -T data.csv \"$(caisson links --put --expires 5m build data.csv)\""
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class LinksCommand extends ServerCommand {
    @Option(names = "--put", description = "to write the file (to read it)")
    private boolean put;

    @Option(
            names = "--expires",
            paramLabel = "TIME",
            defaultValue = "15m",
            converter = Converters.Time.class,
            description = "valid that long, at most 24h (${DEFAULT-VALUE})")
    private Duration expires;

    @Parameters(index = "0", paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Parameters(index = "1", paramLabel = "PATH", description = "absolute or below /work")
    private String path;

    @Override
    int run(ServiceClient client, Printer printer) {
        LinkJson made =
                client.files()
                        .link(
                                id,
                                SandboxFiles.escape(path),
                                put ? "PUT" : "GET",
                                expires.toMillis());
        printer.made(made, made.url());
        return 0;
    }
}
