package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.UsageRow;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory that keeps the promises of {@link Store} but durability: versions, names, all
 * or nothing, fencing, events without holes. Several servers share one by {@link #server}.
 */
final class MemoryStore implements Store {
    private static final Comparator<Row> NEWEST =
            Comparator.comparing(Row::created).thenComparing(Row::id).reversed();

    /** What servers share; a work changes a copy that replaces it when the work is done. */
    private static final class Shared {
        private final ReentrantLock lock = new ReentrantLock();
        private final Map<String, Long> epochs = new HashMap<>();
        private State state = new State();
    }

    /** All rows. */
    private static final class State {
        private final Map<String, Row> rows = new HashMap<>();
        private final Map<String, List<EventJson>> events = new HashMap<>();
        private final Map<String, Long> seqs = new HashMap<>();
        private final Map<UsageRow, UsageRow> usage = new LinkedHashMap<>();
        private final Map<String, String> meta = new HashMap<>();

        State copy() {
            State copy = new State();
            copy.rows.putAll(rows);
            events.forEach((tenant, all) -> copy.events.put(tenant, new ArrayList<>(all)));
            copy.seqs.putAll(seqs);
            copy.usage.putAll(usage);
            copy.meta.putAll(meta);
            return copy;
        }
    }

    private final Shared shared;
    private final String node;
    private final long epoch;
    private volatile @Nullable Runnable beforeCommit;

    MemoryStore() {
        this(new Shared(), "one");
    }

    private MemoryStore(Shared shared, String node) {
        this.shared = shared;
        this.node = node;
        shared.lock.lock();
        try {
            epoch = shared.epochs.merge(node, 1L, Long::sum);
        } finally {
            shared.lock.unlock();
        }
    }

    /** Another server, or a later start of one, with the same rows. */
    MemoryStore server(String name) {
        return new MemoryStore(shared, name);
    }

    /** Runs once at the end of the next write; what it throws is a crash before the commit. */
    void beforeNextCommit(Runnable crash) {
        beforeCommit = crash;
    }

    @Override
    public String node() {
        return node;
    }

    @Override
    public long epoch() {
        return epoch;
    }

    @Override
    public String engine() {
        return "memory";
    }

    @Override
    public <T> T write(Work<T> work) {
        shared.lock.lock();
        try {
            if (!Objects.equals(shared.epochs.get(node), epoch)) {
                throw CaissonException.of(ErrorCode.INVALID_STATE, "This server was replaced.");
            }
            State next = shared.state.copy();
            T result = work.run(new MemoryTx(next));
            Runnable crash = beforeCommit;
            if (crash != null) {
                beforeCommit = null;
                crash.run();
            }
            shared.state = next;
            return result;
        } finally {
            shared.lock.unlock();
        }
    }

    @Override
    public <T> CompletableFuture<T> submit(Work<T> work) {
        try {
            return CompletableFuture.completedFuture(write(work));
        } catch (CaissonException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public <T> T read(Work<T> work) {
        shared.lock.lock();
        try {
            return work.run(new MemoryTx(shared.state));
        } finally {
            shared.lock.unlock();
        }
    }

    @Override
    public void backup(Path target) {
        throw CaissonException.of(ErrorCode.UNSUPPORTED, "Memory is not backed up.");
    }

    @Override
    public void check() {}

    @Override
    public void close() {}

    /** One work's view. */
    private static final class MemoryTx implements Tx {
        private final State state;

        MemoryTx(State state) {
            this.state = state;
        }

        private static String key(Kind kind, String id) {
            return kind.value() + "/" + id;
        }

        private Stream<Row> all(Kind kind) {
            return state.rows.entrySet().stream()
                    .filter(entry -> entry.getKey().startsWith(kind.value() + "/"))
                    .map(Map.Entry::getValue);
        }

        @Override
        public Optional<Row> find(Kind kind, String id) {
            return Optional.ofNullable(state.rows.get(key(kind, id)));
        }

        @Override
        public Optional<Row> named(Kind kind, String tenant, String name) {
            return all(kind)
                    .filter(row -> row.tenant().equals(tenant) && name.equals(row.name()))
                    .findFirst();
        }

        @Override
        public void insert(Kind kind, Row row) {
            if (state.rows.containsKey(key(kind, row.id()))) {
                throw exists(kind, row);
            }
            checkName(kind, row);
            state.rows.put(key(kind, row.id()), versioned(row, 1));
        }

        @Override
        public Row update(Kind kind, Row row) {
            Row before = state.rows.get(key(kind, row.id()));
            if (before == null) {
                throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no such row.");
            }
            if (before.version() != row.version()) {
                throw CaissonException.of(ErrorCode.PRECONDITION_FAILED, "The row has changed.");
            }
            checkName(kind, row);
            Row after = versioned(row, row.version() + 1);
            state.rows.put(key(kind, row.id()), after);
            return after;
        }

        private void checkName(Kind kind, Row row) {
            String name = row.name();
            if (name != null
                    && named(kind, row.tenant(), name)
                            .filter(other -> !other.id().equals(row.id()))
                            .isPresent()) {
                throw exists(kind, row);
            }
        }

        private static CaissonException exists(Kind kind, Row row) {
            return CaissonException.of(
                    ErrorCode.ALREADY_EXISTS, "There is a " + kind.value() + " " + row.name());
        }

        private static Row versioned(Row row, long version) {
            return new Row(
                    row.id(),
                    row.tenant(),
                    row.parent(),
                    row.name(),
                    row.state(),
                    row.node(),
                    row.created(),
                    row.due(),
                    row.labels(),
                    version,
                    row.body());
        }

        @Override
        public boolean delete(Kind kind, String id) {
            return state.rows.remove(key(kind, id)) != null;
        }

        private Stream<Row> matching(Kind kind, Query query) {
            Query.Place after = query.after();
            return all(kind)
                    .filter(row -> same(query.tenant(), row.tenant()))
                    .filter(row -> same(query.parent(), row.parent()))
                    .filter(row -> same(query.name(), row.name()))
                    .filter(row -> same(query.node(), row.node()))
                    .filter(row -> query.states().isEmpty() || query.states().contains(row.state()))
                    .filter(row -> row.labels().entrySet().containsAll(query.labels().entrySet()))
                    .filter(row -> due(query.dueBefore(), row.due()))
                    .filter(row -> after == null || NEWEST.compare(place(after, row), row) < 0);
        }

        private static Row place(Query.Place place, Row like) {
            return new Row(
                    place.id(),
                    like.tenant(),
                    null,
                    null,
                    like.state(),
                    null,
                    place.created(),
                    null,
                    Map.of(),
                    1,
                    "{}");
        }

        private static boolean same(@Nullable String asked, @Nullable String given) {
            return asked == null || asked.equals(given);
        }

        private static boolean due(@Nullable Instant before, @Nullable Instant due) {
            return before == null || (due != null && due.isBefore(before));
        }

        @Override
        public List<Row> list(Kind kind, Query query) {
            return matching(kind, query).sorted(NEWEST).limit(query.limit()).toList();
        }

        @Override
        public long count(Kind kind, Query query) {
            return matching(kind, query).count();
        }

        @Override
        public long deleteAll(Kind kind, Query query) {
            List<Row> gone = matching(kind, query).toList();
            gone.forEach(row -> state.rows.remove(key(kind, row.id())));
            return gone.size();
        }

        @Override
        public long append(EventJson e) {
            long seq = state.seqs.merge(e.tenant(), 1L, Long::sum);
            state.events
                    .computeIfAbsent(e.tenant(), tenant -> new ArrayList<>())
                    .add(
                            new EventJson(
                                    e.id(),
                                    seq,
                                    e.time(),
                                    e.type(),
                                    e.tenant(),
                                    e.sandbox(),
                                    e.session(),
                                    e.exec(),
                                    e.run(),
                                    e.actor(),
                                    e.policyVersion(),
                                    e.traceId(),
                                    e.reason(),
                                    e.data()));
            return seq;
        }

        private static boolean isOf(String asked, String type) {
            return type.equals(asked) || type.startsWith(asked.endsWith(".") ? asked : asked + ".");
        }

        @Override
        public List<EventJson> events(
                String tenant,
                long after,
                int limit,
                @Nullable String sandbox,
                @Nullable String type) {
            return state.events.getOrDefault(tenant, List.of()).stream()
                    .filter(event -> event.seq() > after)
                    .filter(event -> same(sandbox, event.sandbox()))
                    .filter(event -> type == null || isOf(type, event.type()))
                    .limit(limit)
                    .toList();
        }

        @Override
        public long lastSeq(String tenant) {
            return state.seqs.getOrDefault(tenant, 0L);
        }

        @Override
        public long trimEvents(String tenant, Instant before) {
            List<EventJson> all = state.events.getOrDefault(tenant, List.of());
            int size = all.size();
            if (size > 0) {
                all.removeIf(event -> event.time().isBefore(before));
            }
            return size - (long) all.size();
        }

        private static UsageRow zero(UsageRow row, String by) {
            boolean session = by.equals("session") || by.equals("exec");
            return new UsageRow(
                    row.hour(),
                    row.tenant(),
                    by.equals("tenant") ? null : row.sandbox(),
                    session ? row.session() : null,
                    by.equals("exec") ? row.exec() : null,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0);
        }

        private static UsageRow sum(UsageRow key, UsageRow a, UsageRow b) {
            return new UsageRow(
                    key.hour(),
                    key.tenant(),
                    key.sandbox(),
                    key.session(),
                    key.exec(),
                    a.cpuMillis() + b.cpuMillis(),
                    a.memoryByteSeconds() + b.memoryByteSeconds(),
                    a.diskByteSeconds() + b.diskByteSeconds(),
                    a.egressBytes() + b.egressBytes(),
                    a.outputBytes() + b.outputBytes(),
                    a.sandboxMillis() + b.sandboxMillis(),
                    a.execs() + b.execs());
        }

        @Override
        public void addUsage(UsageRow delta) {
            UsageRow key = zero(delta, "exec");
            state.usage.merge(key, sum(key, key, delta), (a, b) -> sum(key, a, b));
        }

        @Override
        public List<UsageRow> usage(
                @Nullable String tenant,
                @Nullable String sandbox,
                Instant from,
                Instant to,
                String by,
                int limit) {
            Map<UsageRow, UsageRow> sums = new LinkedHashMap<>();
            for (UsageRow row : state.usage.values()) {
                if (same(tenant, row.tenant())
                        && same(sandbox, row.sandbox())
                        && !row.hour().isBefore(from)
                        && row.hour().isBefore(to)
                        && by.equals("exec") == (row.exec() != null)) {
                    UsageRow key = zero(row, by);
                    sums.merge(key, sum(key, key, row), (a, b) -> sum(key, a, b));
                }
            }
            return sums.values().stream().limit(limit).toList();
        }

        @Override
        public long deleteUsage(String tenant) {
            long before = state.usage.size();
            state.usage.keySet().removeIf(row -> row.tenant().equals(tenant));
            return before - state.usage.size();
        }

        @Override
        public Optional<String> meta(String name) {
            return Optional.ofNullable(state.meta.get(name));
        }

        @Override
        public void meta(String name, String value) {
            state.meta.put(name, value);
        }
    }
}
