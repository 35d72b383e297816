package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretSink;
import dev.caisson.core.SecretUse;
import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the gateway up to date: it has the secrets that living sandboxes of this server use, and no
 * others. What it did not take is told again at the next {@link #tick}. Thread-safe; the gateway is
 * told under the lock, so in the order in which things happened.
 */
final class SecretFeed {
    private static final Logger LOG = LoggerFactory.getLogger(SecretFeed.class);

    private final Ledger ledger;
    private final Vault vault;
    private final BinaryOperator<String> placeholder;
    private final CopyOnWriteArrayList<Consumer<String>> watchers = new CopyOnWriteArrayList<>();

    private final ReentrantLock lock = new ReentrantLock();
    private SecretSink sink = SecretSink.none(); // guarded by lock
    private final Map<String, Held> held = new HashMap<>(); // guarded by lock: by secret
    private final Map<String, Map<String, Integer>> uses = new HashMap<>(); // guarded by lock
    private final Map<String, Set<String>> barred = new HashMap<>(); // guarded by lock: by sandbox
    private final Set<String> untold = new HashSet<>(); // guarded by lock: sandboxes
    private final Set<String> undropped = new HashSet<>(); // guarded by lock: secrets

    /**
     * @param placeholder of a sandbox and a secret
     */
    SecretFeed(Ledger ledger, Vault vault, BinaryOperator<String> placeholder) {
        this.ledger = ledger;
        this.vault = vault;
        this.placeholder = placeholder;
    }

    /** A secret that sandboxes use. */
    private static final class Held {
        /** Nothing is at the gateway. */
        static final long NOTHING = 0;

        /** What the gateway may have is not known. */
        static final long UNKNOWN = -1;

        final Set<String> sandboxes = new HashSet<>();
        long generation = UNKNOWN;
    }

    /** From now on that gateway; also when the same one is there again. */
    void connect(SecretSink newSink) {
        lock.lock();
        try {
            sink = newSink;
            held.values().forEach(one -> one.generation = Held.UNKNOWN);
            untold.addAll(uses.keySet());
        } finally {
            lock.unlock();
        }
        tick();
    }

    /** Told the id of each sandbox whose values may have changed; must not block. */
    void watch(Consumer<String> watcher) {
        watchers.add(watcher);
    }

    // ---- sandboxes

    /**
     * A sandbox uses these as well; each as often as it was opened.
     *
     * @throws CaissonException when the gateway does not take it; then it does not use them
     */
    void open(String sandbox, Collection<String> secrets) {
        if (secrets.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            boolean done = false;
            try {
                secrets.forEach(secret -> enter(sandbox, secret));
                Map<String, Row> rows = rows(secrets);
                secrets.forEach(secret ->
                        bring(secret, hold(secret), Optional.ofNullable(rows.get(secret))));
                sink.useSecrets(sandbox, usesOf(sandbox));
                done = true;
            } finally {
                if (!done) {
                    secrets.forEach(secret -> leave(sandbox, secret));
                    untold.add(sandbox); // it may have taken them
                }
            }
        } finally {
            lock.unlock();
        }
        watchers.forEach(watcher -> watcher.accept(sandbox));
    }

    /** The same, told as soon as it can be: for a sandbox that lives already. */
    void adopt(String sandbox, Collection<String> secrets) {
        if (secrets.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            secrets.forEach(secret -> enter(sandbox, secret));
            untold.add(sandbox);
        } finally {
            lock.unlock();
        }
        tick();
    }

    /** Takes back what {@link #open} did. */
    void close(String sandbox, Collection<String> secrets) {
        if (secrets.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            if (uses.containsKey(sandbox)) {
                secrets.forEach(secret -> leave(sandbox, secret));
                tell(sandbox);
            }
        } finally {
            lock.unlock();
        }
    }

    /** The sandbox is gone. */
    void gone(String sandbox) {
        lock.lock();
        try {
            Map<String, Integer> its = uses.remove(sandbox);
            untold.remove(sandbox);
            barred.remove(sandbox);
            if (its != null) {
                its.keySet().forEach(secret -> release(sandbox, secret));
            }
        } finally {
            lock.unlock();
        }
    }

    private void enter(String sandbox, String secret) {
        uses.computeIfAbsent(sandbox, id -> new TreeMap<>()).merge(secret, 1, Integer::sum);
        Set<String> not = barred.get(sandbox);
        if (not != null) {
            not.remove(secret); // it was asked for anew, and is listed
        }
        hold(secret).sandboxes.add(sandbox);
    }

    private Held hold(String secret) {
        return held.computeIfAbsent(secret, id -> new Held());
    }

    private void leave(String sandbox, String secret) {
        Map<String, Integer> its = uses.get(sandbox);
        if (its == null) {
            return;
        }
        its.computeIfPresent(secret, (id, count) -> count > 1 ? count - 1 : null);
        if (!its.containsKey(secret)) {
            release(sandbox, secret);
        }
        if (its.isEmpty()) {
            uses.remove(sandbox);
        }
    }

    private void release(String sandbox, String secret) {
        Held one = held.get(secret);
        if (one != null && one.sandboxes.remove(sandbox) && one.sandboxes.isEmpty()) {
            held.remove(secret);
            drop(secret);
        }
    }

    /** Which of those that it was given a sandbox may use from now on. */
    void permit(String sandbox, Predicate<Row> allowed) {
        lock.lock();
        try {
            Map<String, Integer> its = uses.get(sandbox);
            if (its == null) {
                return;
            }
            Map<String, Row> rows = rows(its.keySet());
            Set<String> not = new HashSet<>(its.keySet());
            not.removeIf(secret -> rows.containsKey(secret) && allowed.test(rows.get(secret)));
            Set<String> before = barred.getOrDefault(sandbox, Set.of());
            if (not.isEmpty()) {
                barred.remove(sandbox);
            } else {
                barred.put(sandbox, not);
            }
            if (!not.equals(before)) {
                tell(sandbox);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether a sandbox was given any. */
    boolean uses(String sandbox) {
        lock.lock();
        try {
            return uses.containsKey(sandbox);
        } finally {
            lock.unlock();
        }
    }

    /** What a sandbox may use now. */
    List<SecretUse> usesOf(String sandbox) {
        lock.lock();
        try {
            Set<String> not = barred.getOrDefault(sandbox, Set.of());
            return uses.getOrDefault(sandbox, Map.of()).keySet().stream()
                    .filter(secret -> !not.contains(secret))
                    .map(secret -> new SecretUse(secret, placeholder.apply(sandbox, secret)))
                    .toList();
        } finally {
            lock.unlock();
        }
    }

    /** What is to be taken out of the output of a sandbox; the caller clears it. */
    List<byte[]> valuesOf(String sandbox) {
        Set<String> its;
        lock.lock();
        try {
            its = Set.copyOf(uses.getOrDefault(sandbox, Map.of()).keySet());
        } finally {
            lock.unlock();
        }
        List<byte[]> values = new ArrayList<>();
        rows(its)
                .values()
                .forEach(row -> {
                    SecretDoc doc = SecretDoc.of(row);
                    byte[] value = vault.openBytes(Secrets.purpose(row.id()), doc.sealed());
                    values.addAll(SecretValues.hidden(doc.spec(), value));
                    Arrays.fill(value, (byte) 0);
                });
        return values;
    }

    // ---- secrets

    /** A secret was changed or deleted, durably. */
    void changed(String secret) {
        Set<String> sandboxes;
        lock.lock();
        try {
            Held one = held.get(secret);
            if (one == null) {
                return;
            }
            sandboxes = Set.copyOf(one.sandboxes);
            try {
                bring(secret, one, Optional.ofNullable(rows(Set.of(secret)).get(secret)));
            } catch (CaissonException e) {
                warn("secret", secret, e);
            }
        } finally {
            lock.unlock();
        }
        sandboxes.forEach(sandbox -> watchers.forEach(watcher -> watcher.accept(sandbox)));
    }

    /**
     * Looks at all that is in use: what other servers have changed or deleted, what has come to its
     * end, and what the gateway did not take.
     *
     * @return the rows of what is in use
     */
    Collection<Row> tick() {
        Set<String> other = new HashSet<>();
        Collection<Row> found;
        lock.lock();
        try {
            Map<String, Row> rows = rows(held.keySet());
            found = rows.values();
            // Each question to a gateway that is away takes long, and others want the lock.
            if (Set.copyOf(undropped).stream().allMatch(this::drop)
                    && held.keySet().stream().allMatch(one -> look(one, rows, other))) {
                tellAll();
            }
        } finally {
            lock.unlock();
        }
        other.forEach(sandbox -> watchers.forEach(watcher -> watcher.accept(sandbox)));
        return found;
    }

    private void tellAll() {
        for (String sandbox : Set.copyOf(untold)) {
            if (!tell(sandbox)) {
                return;
            }
        }
    }

    /**
     * Brings the gateway to what the row of one says; under the lock.
     *
     * @param other takes the sandboxes for which that changed something
     * @return false: it is away
     */
    private boolean look(String secret, Map<String, Row> rows, Set<String> other) {
        Held one = hold(secret);
        long before = one.generation;
        try {
            bring(secret, one, Optional.ofNullable(rows.get(secret)));
        } catch (CaissonException e) {
            warn("secret", secret, e);
            return isThere(e);
        }
        if (one.generation != before) {
            other.addAll(one.sandboxes);
        }
        return true;
    }

    private static boolean isThere(CaissonException failure) {
        return failure.code() != ErrorCode.LAUNCHER_UNAVAILABLE;
    }

    /** Brings the gateway to what the row says; under the lock. */
    private void bring(String secret, Held one, Optional<Row> row) {
        Instant now = ledger.now();
        Optional<SecretDoc> doc = row.map(SecretDoc::of).filter(there -> there.usable(now));
        long wanted = doc.map(SecretDoc::generation).orElse(Held.NOTHING);
        if (one.generation == wanted) {
            return;
        }
        if (doc.isEmpty()) {
            sink.dropSecret(secret);
        } else {
            put(row.orElseThrow(), doc.get());
        }
        undropped.remove(secret);
        one.generation = wanted;
    }

    private void put(Row row, SecretDoc doc) {
        byte[] value = vault.openBytes(Secrets.purpose(row.id()), doc.sealed());
        try {
            sink.putSecret(
                    row.id(),
                    row.tenant(),
                    String.valueOf(row.name()),
                    Json.bytes(doc.left()),
                    value);
        } finally {
            Arrays.fill(value, (byte) 0);
        }
    }

    /** Whether the gateway is there. */
    private boolean drop(String secret) {
        undropped.remove(secret);
        try {
            sink.dropSecret(secret);
        } catch (CaissonException e) {
            undropped.add(secret);
            warn("secret", secret, e);
            return isThere(e);
        }
        return true;
    }

    /** Whether the gateway is there. */
    private boolean tell(String sandbox) {
        untold.remove(sandbox);
        try {
            sink.useSecrets(sandbox, usesOf(sandbox));
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                untold.add(sandbox);
                warn("sandbox", sandbox, e);
            }
            return isThere(e);
        }
        return true;
    }

    private static void warn(String noun, String id, CaissonException e) {
        LOG.atWarn()
                .addKeyValue(noun, id)
                .addKeyValue("cause", e.message())
                .log("the gateway was not told of a secret, trying again");
    }

    private Map<String, Row> rows(Collection<String> secrets) {
        if (secrets.isEmpty()) {
            return Map.of();
        }
        return ledger.read(tx -> {
            Map<String, Row> rows = new HashMap<>();
            for (String secret : secrets) {
                tx.find(Kind.SECRET, secret).ifPresent(row -> rows.put(secret, row));
            }
            return rows;
        });
    }

    /** How many secrets are in use. */
    int count() {
        lock.lock();
        try {
            return held.size();
        } finally {
            lock.unlock();
        }
    }
}
