package dev.caisson.cli;

import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson tenants}: tenants of a server. */
@Command(
        name = "tenants",
        description = "Tenants of a server.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            TenantsCommand.Ls.class,
            TenantsCommand.Show.class,
            TenantsCommand.Create.class,
            TenantsCommand.Set.class,
            TenantsCommand.Rm.class
        })
final class TenantsCommand extends Group {

    /** Lists tenants. */
    @Command(
            name = "ls",
            description = "Lists tenants.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tenants ls"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Ls extends ServerCommand {
        @Override
        int run(ServiceClient client, Printer printer) {
            printer.list(
                    ServiceClient.all(Query.LARGE, client.tenants()::list),
                    List.of("ID", "NAME", "STATE", "CREATED"),
                    item ->
                            new @Nullable Object[] {
                                item.id(), item.name(), item.state(), item.createdAt()
                            });
            return 0;
        }
    }

    /** Shows a tenant with its quotas. */
    @Command(
            name = "show",
            description = "Shows a tenant with its quotas.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tenants show acme"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Show extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.tenants().find(id));
            return 0;
        }
    }

    /** Makes a tenant and prints its id. */
    @Command(
            name = "create",
            description = "Makes a tenant and prints its id.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tenants create acme --sandboxes 20"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Create extends ServerCommand {
        @ArgGroup(validate = false)
        private AskedQuotas quotas = new AskedQuotas();

        @Option(names = "--label", paramLabel = "K=V", description = "a label, repeatable")
        private @Nullable List<String> labels;

        @Parameters(paramLabel = "NAME", description = "unique, [a-z0-9][a-z0-9-]*")
        private String name;

        @Override
        int run(ServiceClient client, Printer printer) {
            TenantJson made =
                    client.tenants()
                            .create(
                                    new TenantRequest(
                                            name, quotas.quotas(), null, pairs("--label", labels)));
            printer.made(made, made.id());
            return 0;
        }
    }

    /** Changes quotas or state of a tenant. */
    @Command(
            name = "set",
            description = "Changes quotas or state of a tenant; what is not named stays.",
            sortOptions = false,
            footer = {
                "",
                "Examples:",
                "  caisson tenants set acme --sandboxes 50 --unset memoryBytes",
                "  caisson tenants set acme --state suspended"
            })
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Set extends ServerCommand {
        @ArgGroup(validate = false)
        private AskedQuotas quotas = new AskedQuotas();

        @Option(
                names = "--state",
                paramLabel = "active|suspended",
                description = "whether it may do anything")
        private @Nullable String state;

        @Option(
                names = "--unset",
                paramLabel = "QUOTA",
                split = ",",
                description = "removes a quota, as 'tenants show' names it, repeatable")
        private @Nullable List<String> unset;

        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            QuotaJson asked = quotas.quotas();
            Map<String, @Nullable Long> patch =
                    asked == null ? new LinkedHashMap<>() : asked.patch();
            if (unset != null) {
                unset.forEach(name -> patch.put(name, null));
            }
            TenantJson now = client.tenants().patch(id, new TenantPatch(patch, state, null));
            printer.made(now, now.id());
            return 0;
        }
    }

    /** Deletes a tenant and all that is its own; tells what was erased and kept. */
    @Command(
            name = "rm",
            description =
                    "Deletes a tenant and all that is its own; tells what was erased and kept.",
            sortOptions = false,
            footer = {"", "Example:", "  caisson tenants rm acme"})
    @SuppressWarnings("NullAway.Init") // picocli sets the fields
    static final class Rm extends ServerCommand {
        @Parameters(paramLabel = "ID", description = "id or name")
        private String id;

        @Override
        int run(ServiceClient client, Printer printer) {
            printer.object(client.tenants().delete(id));
            return 0;
        }
    }
}
