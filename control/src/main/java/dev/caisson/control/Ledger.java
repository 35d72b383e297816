package dev.caisson.control;

import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.v1.ActorJson;
import dev.caisson.v1.EventJson;
import java.time.Clock;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store with what every part needs beside it: the clock, what is counted for metrics, and
 * events that are written in the same transaction as the state that they report. Thread-safe.
 */
final class Ledger {
    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);

    /** Who did what nobody asked for. */
    static final ActorJson SYSTEM = new ActorJson(null, "caisson", Map.of());

    private final Store store;
    private final Clock clock;
    private final Counts counts = new Counts();
    private final CopyOnWriteArrayList<Runnable> watchers = new CopyOnWriteArrayList<>();

    Ledger(Store store, Clock clock) {
        this.store = store;
        this.clock = clock;
    }

    /** What an event is about. */
    record Subject(
            String tenant,
            @Nullable String sandbox,
            @Nullable String session,
            @Nullable String exec,
            @Nullable String run) {
        static Subject tenant(String tenant) {
            return new Subject(tenant, null, null, null, null);
        }

        static Subject sandbox(String tenant, String sandbox, @Nullable String session) {
            return new Subject(tenant, sandbox, session, null, null);
        }

        Subject withExec(String newExec) {
            return new Subject(tenant, sandbox, session, newExec, run);
        }

        Subject withRun(@Nullable String newRun) {
            return new Subject(tenant, sandbox, session, exec, newRun);
        }
    }

    Store store() {
        return store;
    }

    /** What this server has done since it began. */
    Counts counts() {
        return counts;
    }

    /** Now, in milliseconds, as the store keeps it. */
    Instant now() {
        return clock.instant().truncatedTo(ChronoUnit.MILLIS);
    }

    static ActorJson actor(Caller caller) {
        return new ActorJson(caller.keyId(), caller.subject(), caller.claimed());
    }

    /** Appends an event of a caller within a transaction. */
    void event(
            Store.Tx tx,
            Caller caller,
            EventType type,
            Subject about,
            String reason,
            Map<String, Object> data) {
        event(tx, caller, now(), type, about, reason, data);
    }

    /** The same of a moment that is past. */
    void event(
            Store.Tx tx,
            Caller caller,
            Instant when,
            EventType type,
            Subject about,
            String reason,
            Map<String, Object> data) {
        append(tx, new Doer(actor(caller), caller.traceId()), when, type, about, reason, data);
    }

    /** Appends an event that nobody asked for. */
    void event(
            Store.Tx tx, EventType type, Subject about, String reason, Map<String, Object> data) {
        append(tx, new Doer(SYSTEM, null), now(), type, about, reason, data);
    }

    /** The same of a moment that is past. */
    void event(
            Store.Tx tx,
            Instant when,
            EventType type,
            Subject about,
            String reason,
            Map<String, Object> data) {
        append(tx, new Doer(SYSTEM, null), when, type, about, reason, data);
    }

    private record Doer(ActorJson actor, @Nullable String trace) {}

    private void append(
            Store.Tx tx,
            Doer doer,
            Instant when,
            EventType type,
            Subject about,
            String reason,
            Map<String, Object> data) {
        tx.append(
                new EventJson(
                        Ids.next(Ids.Kind.EVENT),
                        0,
                        when,
                        type.value(),
                        about.tenant(),
                        about.sandbox(),
                        about.session(),
                        about.exec(),
                        about.run(),
                        doer.actor(),
                        null,
                        doer.trace(),
                        reason,
                        data));
    }

    /** A durable write; those who follow events look again. */
    <T> T write(Store.Work<T> work) {
        long begin = System.nanoTime();
        T result;
        try {
            result = store.write(work);
        } finally {
            counts.written(System.nanoTime() - begin);
        }
        watchers.forEach(Runnable::run);
        return result;
    }

    /** The same without waiting. */
    <T> CompletableFuture<T> submit(Store.Work<T> work) {
        long begin = System.nanoTime();
        return store.submit(work)
                .whenComplete((result, failure) -> {
                    counts.written(System.nanoTime() - begin);
                    watchers.forEach(Runnable::run);
                });
    }

    /** A work without a result. */
    interface Act {
        /** Does it. */
        void run(Store.Tx tx);
    }

    /** A durable write without a result. */
    void act(Act act) {
        write(tx -> done(act, tx));
    }

    /** The same without waiting; what fails is only logged. */
    @SuppressWarnings("FutureReturnValueIgnored") // whoever must know waits
    void actSoon(Act act) {
        submit(tx -> done(act, tx))
                .exceptionally(failure -> {
                    LOG.atWarn().addKeyValue("cause", failure.toString()).log("a write is lost");
                    return false;
                });
    }

    private static boolean done(Act act, Store.Tx tx) {
        act.run(tx);
        return true;
    }

    <T> T read(Store.Work<T> work) {
        return store.read(work);
    }

    /** Called after each write by its thread; must not block. */
    void watch(Runnable watcher) {
        watchers.add(watcher);
    }
}
