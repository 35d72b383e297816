package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretSource;
import dev.caisson.v1.SecretSpec;
import dev.caisson.v1.SecretTestJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson secrets}: what the gateway puts into requests of sandboxes. */
@Command(
        name = "secrets",
        description = "Secrets that the gateway puts into requests; never inside.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            SecretsCommand.Ls.class,
            SecretsCommand.Show.class,
            SecretsCommand.Create.class,
            SecretsCommand.Rotate.class,
            SecretsCommand.Test.class,
            SecretsCommand.Rm.class
        })
final class SecretsCommand extends Group {

    /** Lists secrets, without their values. */
    @Command(
            name = "ls",
            description = "Lists secrets, without their values.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson secrets ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.secrets()::list),
                    List.of("NAME", "ID", "STATE", "SOURCE", "HOSTS", "VERSION", "USES", "USED"),
                    item ->
                            new @Nullable Object[] {
                                item.name(),
                                item.id(),
                                item.state(),
                                item.source(),
                                item.spec().bindings().stream()
                                        .map(SecretBinding::host)
                                        .distinct()
                                        .collect(Collectors.joining(",")),
                                item.version(),
                                item.uses(),
                                item.lastUsedAt()
                            });
            return 0;
        }
    }

    /** Shows a secret, without its value. */
    @Command(
            name = "show",
            description = "Shows a secret, without its value.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson secrets show TOKEN"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "NAME", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.secrets().find(id));
            return 0;
        }
    }

    /** Where the value comes from, and how long it is good. */
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Value {
        @Option(
                names = "--from",
                paramLabel = "SOURCE",
                description =
                        "- for standard input, env:VARIABLE, file:PATH or command:PROGRAM here;"
                                + " server-env:VARIABLE, server-file:PATH or server-command:NAME"
                                + " there")
        private @Nullable String from;

        @Option(
                names = "--refresh",
                paramLabel = "TIME",
                converter = Converters.Time.class,
                description = "how often the server reads its own source again (5m)")
        private @Nullable Duration refresh;

        @Option(
                names = "--expires",
                paramLabel = "TIME",
                converter = Converters.Time.class,
                description = "nothing gets it that long from now on (never)")
        private @Nullable Duration expires;

        boolean isGiven() {
            return from != null;
        }

        @Nullable Long life() {
            return expires == null ? null : expires.toMillis();
        }

        SecretSource source(Main main) {
            Long every = refresh == null ? null : Long.valueOf(refresh.toMillis());
            String text = from == null ? "-" : from;
            if (text.startsWith("server-file:")) {
                return new SecretSource(null, rest(text), null, null, every);
            }
            if (text.startsWith("server-env:")) {
                return new SecretSource(null, null, rest(text), null, every);
            }
            if (text.startsWith("server-command:")) {
                return new SecretSource(null, null, null, rest(text), every);
            }
            byte[] value = SecretTexts.value(text, main.env(), main.streams().in());
            try {
                return new SecretSource(
                        new String(value, StandardCharsets.UTF_8), null, null, null, every);
            } finally {
                Arrays.fill(value, (byte) 0);
            }
        }

        private static String rest(String text) {
            return text.substring(text.indexOf(':') + 1);
        }
    }

    /** Makes a secret and prints its id. */
    @Command(
            name = "create",
            description = "Makes a secret and prints its id; its value is never shown again.",
            sortOptions = false,
            footer = {
                "",
                "Examples:",
                "  caisson secrets create TOKEN --host api.example.com < token.txt",
                "  caisson secrets create DB --from env:DB_LOGIN --basic --host"
                        + " db.example.com:8443",
                "  caisson secrets create CLOUD --from server-command:cloud --spec cloud.json"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @Mixin private Value value;
        @Mixin private SecretSpecOptions spec;

        @Parameters(paramLabel = "NAME", description = "unique in the tenant")
        private String name;

        @Override
        int run(ServiceClient client, Printer printer) {
            SecretSpec bound = spec.spec(name);
            SecretRequest request =
                    new SecretRequest(name, value.source(main()), bound, null, value.life());
            SecretJson made = client.secrets().create(request);
            printer.made(made, made.id());
            return 0;
        }
    }

    /** Gives a secret another value. */
    @Command(
            name = "rotate",
            description = "Gives a secret another value, or has the server read its source again.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson secrets rotate TOKEN --from - < token.txt"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rotate extends ServerCommand {
        @Mixin private Value value;

        @Option(
                names = "--spec",
                paramLabel = "FILE",
                description = "JSON: where it goes from now on (as before); with --from only")
        private @Nullable String spec;

        @Parameters(paramLabel = "NAME", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            SecretSpec bound = spec == null ? null : SecretTexts.spec(spec);
            SecretSource source = value.isGiven() ? value.source(main()) : null;
            SecretJson made =
                    client.secrets()
                            .rotate(id, new SecretRotateRequest(source, bound, null, value.life()));
            printer.made(made, made.name() + " has version " + made.version());
            return 0;
        }
    }

    /** Says whether the server can read a secret's source. */
    @Command(
            name = "test",
            description = "Says whether the server can read a secret's source; 1 if it cannot.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson secrets test TOKEN"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Test extends ServerCommand {
        @Parameters(paramLabel = "NAME", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            SecretTestJson told = client.secrets().test(id);
            printer.made(told, told.readable() ? "readable" : "not readable: " + told.problem());
            return told.readable() ? 0 : 1;
        }
    }

    /** Deletes secrets. */
    @Command(
            name = "rm",
            description = "Deletes secrets; no request gets them any more.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson secrets rm TOKEN"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "NAME", arity = "1..*", description = "ids or names")
        private List<String> ids;

        @Override
        int run(ServiceClient client, Printer printer) {
            for (String id : ids) {
                client.secrets().delete(id);
                printer.made(java.util.Map.of("id", id), id);
            }
            return 0;
        }
    }
}
