package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.VolumeMountJson;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code caisson create}: makes a sandbox. */
@Command(
        name = "create",
        description =
                "Makes a sandbox and prints its id. It lives until its time is over or it is"
                        + " removed.",
        sortOptions = false,
        footer = {
            "",
            "Example:",
            "  caisson create --name build --memory 2g --lifetime 1h",
            "  caisson create --volume data:/data --label team=search"
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class CreateCommand extends ServerCommand {
    @Option(names = "--name", paramLabel = "NAME", description = "a name, unique among the living")
    private @Nullable String name;

    @Option(
            names = "--if-exists",
            paramLabel = "fail|return",
            description = "what to do when one of that name lives (fail)")
    private @Nullable String ifExists;

    @Option(names = "--label", paramLabel = "K=V", description = "a label, repeatable")
    private @Nullable List<String> labels;

    @Option(names = "--env", paramLabel = "K=V", description = "a variable of every command")
    private @Nullable List<String> env;

    @Option(names = "--tier", paramLabel = "TIER", description = "strength of the boundary")
    private @Nullable String tier;

    @Option(names = "--template", paramLabel = "NAME", description = "root file system")
    private @Nullable String template;

    @Option(names = "--snapshot", paramLabel = "ID", description = "start from a snapshot")
    private @Nullable String snapshot;

    @Option(names = "--policy", paramLabel = "NAME", description = "a narrower policy")
    private @Nullable String policy;

    @ArgGroup(validate = false)
    private AskedLimits limits = new AskedLimits();

    @ArgGroup(validate = false)
    private AskedLife life = new AskedLife();

    @Option(
            names = "--root",
            arity = "0..1",
            paramLabel = "denied|allowed",
            fallbackValue = "allowed",
            converter = Converters.Root.class,
            description = "whether sudo works inside (denied; --root alone: allowed)")
    private @Nullable String root;

    @Option(
            names = "--volume",
            paramLabel = "VOLUME:PATH[:ro]",
            description = "mount a volume, repeatable")
    private @Nullable List<String> volumes;

    @ArgGroup(validate = false)
    private EgressOptions egress = new EgressOptions();

    @Mixin private SecretOptions secrets = new SecretOptions();

    @Option(names = "--pool", paramLabel = "NAME", description = "take it from a pool; or: none")
    private @Nullable String pool;

    @Option(names = "--allow-degraded", description = "accept a host that cannot enforce all")
    private boolean allowDegraded;

    @Override
    int run(ServiceClient client, Printer printer) {
        SandboxJson made = client.sandboxes().create(request());
        made.degraded().forEach(what -> printer.say("degraded: " + what));
        printer.made(made, made.id());
        return 0;
    }

    private SandboxRequest request() {
        return new SandboxRequest(
                name,
                ifExists,
                pairs("--label", labels),
                tier,
                template,
                snapshot,
                policy,
                limits.limits(),
                variables(env),
                life.timeoutMillis(),
                life.idleTimeoutMillis(),
                life.maxLifeMillis(),
                life.onTimeout(),
                life.autoResume(),
                root,
                mounts(),
                null,
                allowDegraded ? true : null,
                pool,
                egress(),
                stored());
    }

    /** A secret alone does not close what the policy leaves open. */
    private List<String> stored() {
        return secrets.onlyStored();
    }

    private @Nullable EgressJson egress() {
        if (!egress.narrows()) {
            return null;
        }
        return egress.with(secrets.stored(), List.of())
                .document(main())
                .map(json -> Json.read(json, EgressJson.class))
                .orElse(null);
    }

    private List<VolumeMountJson> mounts() {
        List<VolumeMountJson> mounts = new ArrayList<>();
        for (String volume : volumes == null ? List.<String>of() : volumes) {
            String[] parts = volume.split(":", -1);
            boolean readOnly = parts.length == 3 && parts[2].equals("ro");
            if (parts.length < 2 || parts[0].isEmpty() || (parts.length > 2 && !readOnly)) {
                throw wrong("--volume: '" + volume + "' is not of the form VOLUME:PATH[:ro].");
            }
            mounts.add(new VolumeMountJson(parts[0], parts[1], readOnly));
        }
        return mounts;
    }
}
