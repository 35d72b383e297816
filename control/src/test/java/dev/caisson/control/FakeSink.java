package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretSink;
import dev.caisson.core.SecretUse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A gateway that keeps what it is told, and can be away. */
final class FakeSink implements SecretSink {
    /** What it has, by id. */
    final Map<String, Put> secrets = new ConcurrentHashMap<>();

    /** What sandboxes may use. */
    final Map<String, List<SecretUse>> uses = new ConcurrentHashMap<>();

    /** Everything that it was told, in order: {@code put ID, drop ID, use SANDBOX}. */
    final List<String> told = new CopyOnWriteArrayList<>();

    /** The very arrays that it was given. */
    final List<byte[]> given = new CopyOnWriteArrayList<>();

    volatile boolean away;

    /** How often it was asked while it was away. */
    final AtomicInteger missed = new AtomicInteger();

    record Put(String tenant, String name, String spec, String value) {}

    private void here(String what) {
        if (away) {
            missed.incrementAndGet();
            throw CaissonException.of(ErrorCode.LAUNCHER_UNAVAILABLE, "The gateway is away.");
        }
        told.add(what);
    }

    @Override
    public void putSecret(String secret, String tenant, String name, byte[] spec, byte[] value) {
        here("put " + secret);
        given.add(value);
        secrets.put(
                secret,
                new Put(
                        tenant,
                        name,
                        new String(spec, StandardCharsets.UTF_8),
                        new String(value, StandardCharsets.UTF_8)));
    }

    @Override
    public void dropSecret(String secret) {
        here("drop " + secret);
        secrets.remove(secret);
    }

    @Override
    public void useSecrets(String sandbox, List<SecretUse> now) {
        here("use " + sandbox);
        uses.put(sandbox, List.copyOf(now));
    }

    /** What it has under that id. */
    Put put(String secret) {
        return Objects.requireNonNull(secrets.get(secret));
    }

    /** The values that it has. */
    List<String> values() {
        List<String> values = new ArrayList<>();
        secrets.values().forEach(put -> values.add(put.value()));
        return values;
    }
}
