package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import dev.caisson.v1.SecretSpec;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Counts what one secret is used for, by all sandboxes that may. Kept in memory: a gateway that is
 * started again begins anew. Safe for use by several threads.
 */
final class SecretMeter {
    private static final double NANOS_PER_MINUTE = 60e9;

    private final LongSupplier nanos;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock.
    private double ready = -1;
    private long filled;
    private long requests;
    private long bytes;

    SecretMeter(LongSupplier nanos) {
        this.nanos = nanos;
    }

    /**
     * Counts a request.
     *
     * @throws DeniedException when it is one too many
     */
    void request(String name, SecretSpec spec) throws DeniedException {
        lock.lock();
        try {
            if (spec.requests() != null && requests >= spec.requests()) {
                throw limit(name, "requests", "It was used as often as it may be.");
            }
            checkBytes(name, spec);
            Integer rate = spec.requestsPerMinute();
            if (rate != null) {
                long now = nanos.getAsLong();
                double full = rate;
                ready =
                        ready < 0
                                ? full
                                : Math.min(full, ready + (now - filled) * full / NANOS_PER_MINUTE);
                filled = now;
                if (ready < 1) {
                    throw limit(
                            name,
                            "requestsPerMinute",
                            "It may be used " + rate + " times in a minute; wait and try again.");
                }
                ready--;
            }
            requests++;
        } finally {
            lock.unlock();
        }
    }

    /** Counts bytes of requests and answers. */
    void bytes(String name, SecretSpec spec, long count) throws DeniedException {
        lock.lock();
        try {
            bytes += count;
            checkBytes(name, spec);
        } finally {
            lock.unlock();
        }
    }

    private void checkBytes(String name, SecretSpec spec) throws DeniedException {
        @Nullable Long most = spec.bytes();
        if (most != null && bytes > most) {
            throw limit(name, "bytes", "It may move " + most + " bytes.");
        }
    }

    private static DeniedException limit(String name, String what, String why) {
        return new DeniedException(
                new Verdict(
                        Verdict.Answer.DENY,
                        "secret limit " + what,
                        "The limit of the secret " + name + " is reached. " + why));
    }
}
