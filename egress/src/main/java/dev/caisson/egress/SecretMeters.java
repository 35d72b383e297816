package dev.caisson.egress;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** The meters of all secrets of a gateway. Safe for use by several threads. */
final class SecretMeters {
    private final LongSupplier nanos;
    private final Map<String, SecretMeter> meters = new ConcurrentHashMap<>();

    SecretMeters(LongSupplier nanos) {
        this.nanos = nanos;
    }

    SecretMeter of(String secret) {
        return meters.computeIfAbsent(secret, id -> new SecretMeter(nanos));
    }

    /** The secret is gone. */
    void drop(String secret) {
        meters.remove(secret);
    }
}
