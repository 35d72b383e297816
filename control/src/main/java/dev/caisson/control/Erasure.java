package dev.caisson.control;

import dev.caisson.api.EventType;
import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The end of a tenant, in three steps: its keys are revoked and its state is {@code deleting}, in
 * one transaction; its sandboxes and all else outside end; its rows go, in one transaction. A crash
 * between leaves {@code deleting}, from where {@link #resume} or another call goes on. Thread-safe.
 */
final class Erasure {
    private static final String WHY =
            "Events are kept for audit until the service's retention ends, usage until it has been"
                    + " billed; neither holds output, files, env values or secrets.";

    /** What is erased here, by the noun that it is told as. */
    private static final Map<Kind, String> ROWS = new EnumMap<>(Kind.class);

    static {
        ROWS.put(Kind.KEY, "keys");
        ROWS.put(Kind.POLICY, "policies");
        ROWS.put(Kind.APPROVAL, "approvals");
        ROWS.put(Kind.WEBHOOK, "webhooks");
        ROWS.put(Kind.SECRET, "secrets");
        ROWS.put(Kind.ANSWER, "answers");
        ROWS.put(Kind.RUN, "runs");
        ROWS.put(Kind.RESULT, "results");
        ROWS.put(Kind.EXEC, "execs");
        ROWS.put(Kind.SANDBOX, "sandboxes");
        ROWS.put(Kind.SNAPSHOT, "snapshots");
        ROWS.put(Kind.VOLUME, "volumes");
        ROWS.put(Kind.POOL, "pools");
    }

    private final Ledger ledger;
    private final Directory directory;
    private final Eraser eraser;
    private final Runnable forget;
    private final Duration grace;

    /**
     * @param forget makes this server forget keys and policies that it has read
     * @param grace how long other servers may take to see that the keys are revoked; zero when
     *     there are none
     */
    Erasure(Ledger ledger, Directory directory, Eraser eraser, Runnable forget, Duration grace) {
        this.ledger = ledger;
        this.directory = directory;
        this.eraser = eraser;
        this.forget = forget;
        this.grace = grace;
    }

    /** Erases all of a tenant; blocks until it is done. */
    ErasureJson erase(@Nullable Caller caller, String tenant) {
        boolean began = ledger.write(tx -> begin(tx, caller, tenant));
        directory.forget();
        forget.run();
        Map<String, Long> erased = new LinkedHashMap<>(eraser.erase(tenant));
        if (began && !grace.isZero()) {
            // What another server began with a key that it had just read.
            pause(grace);
            eraser.erase(tenant).forEach((noun, more) -> erased.merge(noun, more, Long::sum));
        }
        ErasureJson result = ledger.write(tx -> finish(tx, caller, tenant, erased));
        directory.forget();
        forget.run();
        return result;
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Goes on with what a crash left; called once at start. */
    void resume() {
        Query deleting = Query.of(Directory.ALL).withStates(Directory.DELETING);
        for (Row row : ledger.read(tx -> tx.list(Kind.TENANT, deleting))) {
            erase(null, row.id());
        }
    }

    private boolean begin(Store.Tx tx, @Nullable Caller caller, String tenant) {
        Row row = Rows.require(tx, Kind.TENANT, Directory.ALL, tenant);
        if (row.state().equals(Directory.DELETING)) {
            return false;
        }
        Directory.Doc doc = Json.read(row.body(), Directory.Doc.class);
        tx.update(Kind.TENANT, Rows.with(row, Directory.DELETING, null, doc));
        Query active = Query.of(tenant).withStates(Keys.ACTIVE);
        for (Row key : tx.list(Kind.KEY, active)) {
            KeyDoc revoked = Json.read(key.body(), KeyDoc.class).withRevokedAt(ledger.now());
            tx.update(Kind.KEY, Rows.with(key, Keys.REVOKED, null, revoked));
        }
        event(tx, caller, EventType.TENANT_CHANGED, tenant, Map.of("state", Directory.DELETING));
        return true;
    }

    private ErasureJson finish(
            Store.Tx tx, @Nullable Caller caller, String tenant, Map<String, Long> before) {
        Map<String, Long> erased = new LinkedHashMap<>(before);
        Row row = Rows.require(tx, Kind.TENANT, Directory.ALL, tenant);
        if (row.state().equals(Directory.DELETED)) {
            // Another server went on with it as well.
            return new ErasureJson(tenant, erased, kept(tx, tenant), WHY);
        }
        ROWS.forEach((kind, noun) -> add(erased, noun, tx.deleteAll(kind, Query.of(tenant))));
        Map<String, Object> data = new LinkedHashMap<>(erased);
        event(tx, caller, EventType.TENANT_DELETED, tenant, data);
        tx.meta(Directory.HOME)
                .ifPresent(home ->
                        event(
                                tx,
                                caller,
                                EventType.TENANT_DELETED,
                                home,
                                Map.of("tenant", tenant)));
        bury(tx, row);
        return new ErasureJson(tenant, erased, kept(tx, tenant), WHY);
    }

    private Map<String, Long> kept(Store.Tx tx, String tenant) {
        return Map.of("events", tx.lastSeq(tenant), "usage", usageRows(tx, tenant));
    }

    /**
     * Deletes the usage, and what is left, of tenants that were deleted before; a timer calls it.
     *
     * @return how many tenants
     */
    long purge(Instant before) {
        Query old = Query.of(Directory.ALL).withStates(Directory.DELETED).withDueBefore(before);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.TENANT, old));
        for (Row row : rows) {
            ledger.write(tx -> {
                tx.deleteUsage(row.id());
                tx.trimEvents(row.id(), before);
                return tx.delete(Kind.TENANT, row.id());
            });
        }
        return rows.size();
    }

    /** A row is what the eraser may have counted already. */
    private static void add(Map<String, Long> erased, String noun, long rows) {
        if (rows > 0) {
            erased.merge(noun, rows, Math::max);
        }
    }

    private long usageRows(Store.Tx tx, String tenant) {
        Instant end = ledger.now().plus(Duration.ofHours(1));
        return tx.usage(tenant, null, Instant.EPOCH, end, "session", Integer.MAX_VALUE).size();
    }

    /** The name is free again; the row says whose events and usage there still are. */
    private void bury(Store.Tx tx, Row row) {
        tx.update(
                Kind.TENANT,
                new Row(
                        row.id(),
                        row.tenant(),
                        null,
                        null,
                        Directory.DELETED,
                        null,
                        row.created(),
                        ledger.now(),
                        Map.of(),
                        row.version(),
                        row.body()));
    }

    private void event(
            Store.Tx tx,
            @Nullable Caller caller,
            EventType type,
            String tenant,
            Map<String, Object> data) {
        Ledger.Subject about = Ledger.Subject.tenant(tenant);
        if (caller == null) {
            ledger.event(tx, type, about, "resumed", data);
        } else {
            ledger.event(tx, caller, type, about, "requested", data);
        }
    }
}
