package dev.caisson.egress;

import dev.caisson.v1.Json;
import dev.caisson.v1.SecretSpec;
import dev.caisson.wire.egress.PutSecret;
import dev.caisson.wire.egress.SecretUse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Secrets of all clients, values in memory only. Where they belong is kept, so that after a restart
 * their hosts are refused until the values are there again. Safe for use by several threads.
 */
final class SecretStore {
    private static final int MAX_VALUE = 64 << 10;

    private final ConcurrentHashMap<SandboxKey, Entry> entries = new ConcurrentHashMap<>();
    private final StateFolder state;
    // One change at a time, so that the file and the memory say the same.
    private final Object changing = new Object();

    /** A secret without a sandbox, so without a placeholder. */
    private record Entry(String tenant, HeldSecret secret) {}

    SecretStore(StateFolder state) throws IOException {
        this.state = state;
        state.secrets().forEach((key, secret) -> entries.put(key, entry(secret)));
    }

    /** Puts or replaces one. */
    void put(int owner, PutSecret secret) throws IOException {
        SandboxKey key = key(owner, secret.getSecret());
        if (secret.getValue().isEmpty() || secret.getValue().size() > MAX_VALUE) {
            throw new IllegalArgumentException("A secret has 1 to " + MAX_VALUE + " bytes.");
        }
        Entry entry = entry(secret);
        synchronized (changing) {
            state.keepSecret(key, secret);
            clear(entries.put(key, entry));
        }
    }

    void drop(int owner, String secret) throws IOException {
        SandboxKey key = key(owner, secret);
        synchronized (changing) {
            state.dropSecret(key);
            clear(entries.remove(key));
        }
    }

    private static SandboxKey key(int owner, String secret) {
        return new SandboxKey(owner, secret); // the same grammar, and as safe in a file's name
    }

    private static Entry entry(PutSecret secret) {
        SecretSpec spec = Json.request(secret.getSpec().toByteArray(), SecretSpec.class);
        byte[] value = secret.getValue().toByteArray();
        return new Entry(
                secret.getTenant(),
                new HeldSecret(secret.getSecret(), secret.getName(), spec, value, ""));
    }

    /** Best effort: the collector may have copied it before. */
    private static void clear(@Nullable Entry entry) {
        if (entry != null) {
            Arrays.fill(entry.secret().value(), (byte) 0);
        }
    }

    /** The secrets that a sandbox uses, as far as they are known and its tenant's. */
    List<HeldSecret> held(int owner, String tenant, List<SecretUse> uses) {
        List<HeldSecret> held = new ArrayList<>();
        for (SecretUse use : uses) {
            Entry entry =
                    SandboxKey.isId(use.getSecret())
                            ? entries.get(key(owner, use.getSecret()))
                            : null;
            if (entry != null && entry.tenant().equals(tenant)) {
                held.add(
                        new HeldSecret(
                                use.getSecret(),
                                entry.secret().name(),
                                entry.secret().spec(),
                                entry.secret().value(),
                                use.getPlaceholder()));
            }
        }
        return List.copyOf(held);
    }
}
