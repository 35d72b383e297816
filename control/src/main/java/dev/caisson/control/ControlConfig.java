package dev.caisson.control;

import dev.caisson.api.ByteSize;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How the service behaves.
 *
 * @param data folder for output and files that are kept; its parent must exist
 * @param lease how long sandboxes outlive a server that is gone
 * @param outputRate bytes that the commands of a tenant may write each second, after a burst; 0:
 *     any number
 * @param logPerExec output kept of an exec beyond what its result captures
 * @param logKept how long output is kept after a sandbox's end
 * @param endedKept how long ended sandboxes, execs and runs are listed
 * @param eventsKept how long events are kept
 * @param runKept how long results and files of runs are kept by default
 * @param defaultTimeout life of a sandbox that asked for none
 * @param maxExecs at once on this server
 * @param portsUrl where ports are served: {@code http://{port}-{id}.localhost:3901}; empty: nowhere
 * @param webhooks how events are delivered
 * @param tokens OIDC bearer tokens; null: none are taken
 * @param secrets what of this server secrets may be read from
 * @param registries address of an ecosystem's registry of packages where no policy names one
 */
public record ControlConfig(
        Path data,
        Duration lease,
        ByteSize outputRate,
        ByteSize logPerExec,
        Duration logKept,
        Duration endedKept,
        Duration eventsKept,
        Duration runKept,
        Duration defaultTimeout,
        int maxExecs,
        String portsUrl,
        WebhookConfig webhooks,
        @Nullable TokenConfig tokens,
        SecretConfig secrets,
        Function<String, Optional<String>> registries) {

    /**
     * Two minutes of lease, 16 MiB of output a second, 4 MiB of it kept, an hour of logs and runs,
     * a day of rows.
     */
    public static ControlConfig of(Path data) {
        return new ControlConfig(
                data,
                Duration.ofMinutes(2),
                ByteSize.ofMib(16),
                ByteSize.ofMib(4),
                Duration.ofHours(1),
                Duration.ofDays(1),
                Duration.ofDays(30),
                Duration.ofHours(1),
                Duration.ofMinutes(30),
                4096,
                "",
                WebhookConfig.defaults(),
                null,
                SecretConfig.none(),
                ecosystem -> Optional.empty());
    }
}
