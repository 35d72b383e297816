package dev.caisson.redact;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The redactors that somebody uses: one for the same secrets, since a thousand sandboxes of a
 * tenant have the same and a redactor is a thousand times as large as what it looks for. Safe for
 * use by several threads.
 */
final class Shared {
    private final Map<ByteBuffer, Entry> known = new ConcurrentHashMap<>();
    private final ReferenceQueue<Redactor> unused = new ReferenceQueue<>();
    // So that what stays of secrets that nobody uses any more tells nothing of them.
    private final byte[] salt = SecureRandom.getSeed(32);

    private static final class Entry extends WeakReference<Redactor> {
        private final ByteBuffer key;

        Entry(ByteBuffer key, Redactor redactor, ReferenceQueue<Redactor> unused) {
            super(redactor, unused);
            this.key = key;
        }
    }

    /**
     * The redactor of these secrets; made when there is none.
     *
     * @param secrets each as text of one character a byte
     */
    Redactor of(Collection<String> secrets, Supplier<Redactor> make) {
        while (unused.poll() instanceof Entry entry) {
            known.remove(entry.key, entry);
        }
        ByteBuffer key = ByteBuffer.wrap(digest(secrets));
        Entry entry = known.get(key);
        @Nullable Redactor there = entry == null ? null : entry.get();
        if (there != null) {
            return there;
        }
        Redactor made = make.get();
        known.put(key, new Entry(key, made, unused));
        return made;
    }

    /** How many are known. */
    int size() {
        return known.size();
    }

    private byte[] digest(Collection<String> secrets) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(salt);
            secrets.stream()
                    .sorted()
                    .forEach(secret -> {
                        digest.update(ByteBuffer.allocate(4).putInt(0, secret.length()));
                        digest.update(secret.getBytes(StandardCharsets.ISO_8859_1));
                    });
            return digest.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256", e);
        }
    }
}
