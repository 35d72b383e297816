package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.Idempotency;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Answers in memory. */
final class FakeIdempotency implements Idempotency {
    private final Map<String, Entry> entries = new HashMap<>();

    /** Keys of answers that could not be kept. */
    final List<String> left = new CopyOnWriteArrayList<>();

    /** Sees each answer before it is kept. */
    volatile Consumer<Answer> before = answer -> {};

    /** A request, and its answer when it is known. */
    private record Entry(String hash, @Nullable Answer answer) {}

    private static String key(Caller caller, String route, String key) {
        return caller.tenant() + " " + route + " " + key;
    }

    @Override
    public synchronized Optional<Answer> begin(
            Caller caller, String route, String key, String bodyHash) {
        Entry entry = entries.get(key(caller, route, key));
        if (entry == null) {
            entries.put(key(caller, route, key), new Entry(bodyHash, null));
            return Optional.empty();
        }
        if (!entry.hash().equals(bodyHash)) {
            throw CaissonException.of(ErrorCode.IDEMPOTENCY_MISMATCH, "Another body.");
        }
        if (entry.answer() == null) {
            throw CaissonException.of(ErrorCode.of("conflict"), "Still running.");
        }
        return Optional.of(entry.answer());
    }

    @Override
    public synchronized void complete(Caller caller, String route, String key, Answer answer) {
        before.accept(answer);
        String full = key(caller, route, key);
        Entry entry = entries.get(full);
        entries.put(full, new Entry(entry == null ? "" : entry.hash(), answer));
    }

    @Override
    public synchronized void abandon(Caller caller, String route, String key) {
        entries.remove(key(caller, route, key));
    }

    @Override
    public void leave(Caller caller, String route, String key) {
        left.add(key);
    }

    @Override
    public <T, X extends Exception> T during(
            Caller caller, String route, String key, ScopedValue.CallableOp<T, X> work) throws X {
        return work.call();
    }

    /** As if the answer to a request had been lost, and only what it made were known. */
    synchronized void lose(String key, String made) {
        entries.replaceAll((name, entry) ->
                name.endsWith(" " + key) ? new Entry(entry.hash(), Answer.ofMade(made)) : entry);
    }

    synchronized Optional<Answer> kept(String key) {
        return entries.entrySet().stream()
                .filter(entry -> entry.getKey().endsWith(" " + key))
                .map(entry -> Optional.ofNullable(entry.getValue().answer()))
                .findFirst()
                .orElse(Optional.empty());
    }
}
