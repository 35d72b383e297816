package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.Json;
import dev.caisson.v1.PolicyJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code caisson policies}: policies: what sandboxes may do. */
@Command(
        name = "policies",
        description = "Policies: what sandboxes may do.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            PoliciesCommand.Ls.class,
            PoliciesCommand.Show.class,
            PoliciesCommand.Put.class,
            PoliciesCommand.Rm.class
        })
final class PoliciesCommand extends Group {

    /** Lists policies. */
    @Command(
            name = "ls",
            description = "Lists policies.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson policies ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.policies()::list),
                    List.of("NAME", "ID", "TIERS", "TEMPLATES", "ROOT", "VERSION"),
                    item ->
                            new @Nullable Object[] {
                                item.name(),
                                item.id(),
                                item.tiers(),
                                item.templates(),
                                item.root(),
                                item.version()
                            });
            return 0;
        }
    }

    /** Shows a policy. */
    @Command(
            name = "show",
            description = "Shows a policy.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson policies show strict --json"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "NAME", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.policies().find(id));
            return 0;
        }
    }

    /** Makes or replaces a policy from a JSON file, or - for standard input. */
    @Command(
            name = "put",
            description = "Makes or replaces a policy from a JSON file, or - for standard input.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson policies put strict strict.json"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Put extends ServerCommand {
        @Parameters(paramLabel = "NAME", description = "of the policy")
        private String name;

        @Parameters(paramLabel = "FILE", description = "JSON as in the API; - for standard input")
        private String file;

        @Override
        int run(ServiceClient client, Printer printer) {
            PolicyJson now = client.policies().put(name, Json.request(content(), PolicyJson.class));
            printer.made(now, name);
            return 0;
        }

        private byte[] content() {
            try {
                byte[] content =
                        file.equals("-")
                                ? main().streams().in().readNBytes(LONGEST)
                                : Files.readAllBytes(Path.of(file));
                return content;
            } catch (IOException e) {
                throw CaissonException.of(ErrorCode.INVALID, file + " cannot be read: " + e, e);
            }
        }

        private static final int LONGEST = 1 << 20;
    }

    /** Deletes policies. */
    @Command(
            name = "rm",
            description = "Deletes policies.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson policies rm strict"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.policies().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
