package dev.caisson.control;

import java.time.Duration;
import java.util.List;

/**
 * How events are delivered by HTTP.
 *
 * @param privateAddresses whether private, loopback and link-local addresses may be called; with it
 *     tenants reach what this server reaches
 * @param timeout for all of one delivery
 * @param parallel deliveries at once on this server
 * @param backoff waits between the attempts of one event; then it is a dead letter
 * @param disableAfter a webhook that has failed for that long is disabled
 */
public record WebhookConfig(
        boolean privateAddresses,
        Duration timeout,
        int parallel,
        List<Duration> backoff,
        Duration disableAfter) {

    /** Copies the list. */
    public WebhookConfig {
        backoff = List.copyOf(backoff);
    }

    /** Public addresses only, 10 s, 16 at once, eight attempts within a day, three days. */
    public static WebhookConfig defaults() {
        return new WebhookConfig(
                false,
                Duration.ofSeconds(10),
                16,
                List.of(
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(30),
                        Duration.ofMinutes(2),
                        Duration.ofMinutes(10),
                        Duration.ofHours(1),
                        Duration.ofHours(6),
                        Duration.ofHours(12)),
                Duration.ofDays(3));
    }
}
