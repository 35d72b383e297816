package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Kind;
import dev.caisson.control.Query;
import dev.caisson.control.Row;
import dev.caisson.control.Store;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The transaction as a work sees it; of the thread that made it, until it is closed. */
final class SqlTx implements Store.Tx, AutoCloseable {
    /** Whether and how a work may write. */
    enum Mode {
        READ,
        /** The only work of its transaction: what it did ends with that. */
        ALONE,
        /** One of several: a savepoint before its first write takes back what it did. */
        SHARED
    }

    private final Session session;
    private final Mode mode;
    private final Thread owner = Thread.currentThread();
    private final Items items;
    private final Events events;
    private final Usages usages;
    private boolean open = true;
    private boolean saved;
    private @Nullable SqlFailure failure;

    SqlTx(Session session, Mode mode) {
        this.session = session;
        this.mode = mode;
        items = new Items(session);
        events = new Events(session);
        usages = new Usages(session);
    }

    /** What the database said, even if the work did not let it through. */
    void rethrowFailure() {
        if (failure != null) {
            throw failure;
        }
    }

    /** Keeps what the work did. */
    void keep() {
        if (saved) {
            session.execute("RELEASE SAVEPOINT work");
        }
    }

    /** Takes back what the work did, unless its transaction does. */
    void takeBack() {
        if (saved) {
            session.execute("ROLLBACK TO SAVEPOINT work");
            session.execute("RELEASE SAVEPOINT work");
        }
    }

    @Override
    public void close() {
        open = false;
    }

    private <T> T read(Function<Session, T> part) {
        if (!open || Thread.currentThread() != owner) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "A transaction of the store was used outside of its work.");
        }
        rethrowFailure();
        try {
            return part.apply(session);
        } catch (SqlFailure e) {
            failure = e;
            throw e;
        }
    }

    private <T> T write(Function<Session, T> part) {
        if (mode == Mode.READ) {
            throw CaissonException.of(
                    ErrorCode.INTERNAL, "A work of the store that only reads tried to write.");
        }
        return read(same -> {
            if (mode == Mode.SHARED && !saved) {
                same.execute("SAVEPOINT work");
                saved = true;
            }
            return part.apply(same);
        });
    }

    @Override
    public Optional<Row> find(Kind kind, String id) {
        return read(s -> items.find(kind, id));
    }

    @Override
    public Optional<Row> named(Kind kind, String tenant, String name) {
        return read(s -> items.named(kind, tenant, name));
    }

    @Override
    public void insert(Kind kind, Row row) {
        write(s -> {
            items.insert(kind, row);
            return true;
        });
    }

    @Override
    public Row update(Kind kind, Row row) {
        return write(s -> items.update(kind, row));
    }

    @Override
    public boolean delete(Kind kind, String id) {
        return write(s -> items.delete(kind, id));
    }

    @Override
    public List<Row> list(Kind kind, Query query) {
        return read(s -> items.list(kind, query));
    }

    @Override
    public long count(Kind kind, Query query) {
        return read(s -> items.count(kind, query));
    }

    @Override
    public long deleteAll(Kind kind, Query query) {
        return write(s -> items.deleteAll(kind, query));
    }

    @Override
    public long append(EventJson event) {
        return write(s -> events.append(event));
    }

    @Override
    public List<EventJson> events(
            String tenant, long after, int limit, @Nullable String sandbox, @Nullable String type) {
        return read(s -> events.list(tenant, after, limit, sandbox, type));
    }

    @Override
    public long lastSeq(String tenant) {
        return read(s -> events.lastSeq(tenant));
    }

    @Override
    public long trimEvents(String tenant, Instant before) {
        return write(s -> events.trim(tenant, before));
    }

    @Override
    public void addUsage(UsageRow delta) {
        write(s -> {
            usages.add(delta);
            return true;
        });
    }

    @Override
    public List<UsageRow> usage(
            @Nullable String tenant,
            @Nullable String sandbox,
            Instant from,
            Instant to,
            String by,
            int limit) {
        return read(s -> usages.sums(tenant, sandbox, from, to, by, limit));
    }

    @Override
    public long deleteUsage(String tenant) {
        return write(s -> usages.delete(tenant));
    }

    @Override
    public Optional<String> meta(String name) {
        return read(s ->
                s.first("SELECT value FROM meta WHERE name = ?", row -> row.getString(1), name));
    }

    @Override
    public void meta(String name, String value) {
        write(s ->
                s.update(
                        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO"
                                + " UPDATE SET value = excluded.value",
                        name,
                        value));
    }

    /** Writes the time that this node was last heard of: a write that changes nothing else. */
    int seen(String node, Instant now) {
        return write(
                s -> s.update("UPDATE node SET seen = ? WHERE name = ?", now.toEpochMilli(), node));
    }
}
