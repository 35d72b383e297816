package dev.caisson.store;

import dev.caisson.api.CaissonException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where the store is, and how it is used.
 *
 * @param url {@code sqlite:/path/of/file.db}, {@code postgresql://user@host:port/database} or
 *     {@code jdbc:postgresql:…} with the driver's parameters
 * @param node the name of this server, one at a time
 * @param password of the database's user, which is never in the URL; null: in the driver's password
 *     file, or none
 * @param readers at most that many reads at once, 1 to 64
 * @param queue works that may wait to be written before more are refused
 * @param patience how long a lost database or a lock of another process is waited for
 */
public record StoreConfig(
        String url,
        String node,
        @Nullable String password,
        int readers,
        int queue,
        Duration patience) {
    private static final int MAX_READERS = 64;

    /** Checks the numbers, and that the URL, which is shown, holds no password. */
    public StoreConfig {
        if (Redacted.hides(url)) {
            throw CaissonException.invalid(
                            "url", "The URL of the store holds a password: " + Redacted.url(url))
                    .withRemedy(
                            "Leave it out, and name a file that holds it in store.passwordFile.");
        }
        if (node.isBlank()) {
            throw CaissonException.invalid("node", "The node of a store needs a name.");
        }
        if (readers < 1 || readers > MAX_READERS) {
            throw CaissonException.invalid("readers", "A store has 1 to 64 readers.");
        }
        if (queue < 1) {
            throw CaissonException.invalid("queue", "The queue of a store must hold a work.");
        }
    }

    /** 4 readers, 10,000 waiting works, 10 seconds of patience. */
    public static StoreConfig of(String url, String node) {
        return new StoreConfig(url, node, null, 4, 10_000, Duration.ofSeconds(10));
    }

    /** The same with a password. */
    public StoreConfig withPassword(String newPassword) {
        return new StoreConfig(url, node, newPassword, readers, queue, patience);
    }

    /** The same with so many readers. */
    public StoreConfig withReaders(int newReaders) {
        return new StoreConfig(url, node, password, newReaders, queue, patience);
    }

    /** The same with room for so many waiting works. */
    public StoreConfig withQueue(int newQueue) {
        return new StoreConfig(url, node, password, readers, newQueue, patience);
    }

    /** The same with that patience. */
    public StoreConfig withPatience(Duration newPatience) {
        return new StoreConfig(url, node, password, readers, queue, newPatience);
    }

    /** Without secrets. */
    @Override
    public String toString() {
        return "StoreConfig[url=" + Redacted.url(url) + ", node=" + node + "]";
    }
}
