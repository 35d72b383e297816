package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.RotateRequest;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson keys}: keys of the API. */
@Command(
        name = "keys",
        description = "Keys of the API.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            KeysCommand.Ls.class,
            KeysCommand.Create.class,
            KeysCommand.Rotate.class,
            KeysCommand.Revoke.class
        })
final class KeysCommand extends Group {

    /** Lists keys, without their secrets. */
    @Command(
            name = "ls",
            description = "Lists keys, without their secrets.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson keys ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.keys()::list),
                    List.of(
                            "ID", "NAME", "ROLE", "SCOPES", "CREATED", "EXPIRES", "REVOKED",
                            "USED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(),
                                item.name(),
                                item.role(),
                                item.scopes(),
                                item.createdAt(),
                                item.expiresAt(),
                                item.revokedAt(),
                                item.lastUsedAt()
                            });
            return 0;
        }
    }

    /** Makes a key and prints it; it is shown this once. */
    @Command(
            name = "create",
            description = "Makes a key and prints it; it is shown this once.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson keys create --name ci --role agent --expires 30d"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Option(names = "--name", paramLabel = "NAME", description = "for people")
        private @Nullable String name;

        @Option(
                names = "--role",
                paramLabel = "ROLE",
                description = "admin, operator, agent or auditor (agent)")
        private @Nullable String role;

        @Option(names = "--scope", paramLabel = "NOUN:VERB", description = "narrower, repeatable")
        private @Nullable List<String> scopes;

        @Option(
                names = "--expires",
                paramLabel = "TIME",
                converter = Converters.Time.class,
                description = "valid that long (for ever)")
        private @Nullable Duration expires;

        @Option(names = "--policy", paramLabel = "NAME", description = "narrows the tenant's")
        private @Nullable String policy;

        @Override
        int run(ServiceClient client, Printer printer) {
            KeyJson made =
                    client.keys()
                            .create(
                                    new KeyRequest(
                                            name,
                                            role,
                                            scopes == null ? List.of() : scopes,
                                            expires == null ? null : expires.toMillis(),
                                            policy));
            printer.made(made, String.valueOf(made.key()));
            return 0;
        }
    }

    /** Gives a key another secret and prints the key; it is shown this once. */
    @Command(
            name = "rotate",
            description = "Gives a key another secret and prints the key; it is shown this once.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson keys rotate 0a1b2c3d --overlap 1h"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rotate extends ServerCommand {
        @Option(
                names = "--overlap",
                paramLabel = "TIME",
                converter = Converters.Time.class,
                description = "how long the old one still works (0s)")
        private @Nullable Duration overlap;

        @Parameters(paramLabel = "ID", description = "8 hexadecimal digits")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            KeyJson made =
                    client.keys()
                            .rotate(
                                    id,
                                    new RotateRequest(overlap == null ? null : overlap.toMillis()));
            printer.made(made, String.valueOf(made.key()));
            return 0;
        }
    }

    /** Revokes keys; they are valid no more when this returns. */
    @Command(
            name = "revoke",
            description = "Revokes keys; they are valid no more when this returns.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson keys revoke 0a1b2c3d"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Revoke extends ServerCommand {
        @Parameters(paramLabel = "ID", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.keys().revoke(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
