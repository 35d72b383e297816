package dev.caisson.cli;

import dev.caisson.client.ServiceClient;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code caisson update}: changes a sandbox while it lives. */
@Command(
        name = "update",
        description = "Changes labels and limits of a sandbox while it lives.",
        sortOptions = false,
        footer = {
            "",
            "Examples:",
            "  caisson update build --memory 2g --cpus 2",
            "  caisson update build --label team=search --no-label trial",
            "",
            "Limits of the disk, of its files and of descriptors stay what they were at the start."
        })
@SuppressWarnings("NullAway.Init") // picocli sets the fields
final class UpdateCommand extends ServerCommand {
    @Option(names = "--label", paramLabel = "K=V", description = "set a label, repeatable")
    private @Nullable List<String> labels;

    @Option(names = "--no-label", paramLabel = "K", description = "remove a label, repeatable")
    private @Nullable List<String> removed;

    @ArgGroup(validate = false)
    private LivingLimits limits = new LivingLimits();

    @Parameters(paramLabel = "ID", description = "id or name of a sandbox")
    private String id;

    @Override
    String local() {
        return "the limits of a run on this host are those that it began with.";
    }

    @Override
    int run(ServiceClient client, Printer printer) {
        Map<String, @Nullable String> changed = new LinkedHashMap<>(pairs("--label", labels));
        for (String label : removed == null ? List.<String>of() : removed) {
            if (changed.put(label, null) != null) {
                throw wrong("--no-label: '" + label + "' is set at the same time.");
            }
        }
        LimitsJson asked = limits.limits();
        if (changed.isEmpty() && asked == null) {
            throw wrong("Say what to change: --label, --no-label, --memory, --cpus …");
        }
        SandboxJson now =
                client.sandboxes()
                        .patch(
                                id,
                                new SandboxPatch(
                                        changed.isEmpty() ? null : changed,
                                        asked,
                                        null,
                                        null,
                                        null),
                                OptionalLong.empty());
        printer.made(now, now.id());
        return 0;
    }
}
