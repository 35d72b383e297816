package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import java.util.List;
import picocli.CommandLine.Command;

/** {@code caisson templates}: root file systems of sandboxes. */
@Command(
        name = "templates",
        description = "Root file systems of sandboxes.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = TemplatesCommand.Ls.class)
final class TemplatesCommand extends Group {

    /** A template as it is shown. */
    record Shown(String name) {}

    /** Lists those that sandboxes can have. */
    @Command(
            name = "ls",
            description = "Lists the root file systems that sandboxes can have.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson templates ls"})
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    client.templates().stream().map(Shown::new).toList(),
                    List.of("NAME"),
                    item -> new Object[] {item.name()});
            return 0;
        }
    }
}
