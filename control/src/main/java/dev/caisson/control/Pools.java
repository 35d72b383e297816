package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Limits;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PoolJson;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.SandboxRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sandboxes that are ready before they are asked for. Each belongs to its tenant from the start, is
 * given out once, with the claimer's policy applied and read back from the engine before, and never
 * taken back. Thread-safe.
 */
final class Pools implements PoolService {
    private static final Logger LOG = LoggerFactory.getLogger(Pools.class);
    private static final int MAX_SIZE = 1000;

    /** Without a claim for so long a pool is filled again; at once below this part of its size. */
    private static final long QUIET_MILLIS = 50;

    private static final int FEW = 4;
    private static final long RETRY_MILLIS = 2000;

    private final Parts parts;
    private final Lives lives;
    private final Orders orders;
    private final ConcurrentHashMap<String, Pool> pools = new ConcurrentHashMap<>();

    Pools(Parts parts, Lives lives, Orders orders) {
        this.parts = parts;
        this.lives = lives;
        this.orders = orders;
    }

    /** Takes up the pools of this server; after recovery. */
    void start() {
        parts.ledger()
                .read(tx -> tx.list(Kind.POOL, Query.ALL.withNode(parts.node())))
                .forEach(row -> {
                    Pool pool = new Pool(PoolDoc.of(row), row.version());
                    pools.put(row.id(), pool);
                    fill(pool);
                });
    }

    // ---- claiming

    /** A ready sandbox that fits the order, given out and durable; empty: make one. */
    Optional<Box> claim(Caller caller, SandboxRequest request, Order order) {
        String asked = request.pool();
        if ("none".equals(asked) || order.disk().isPresent() || !order.mounts().isEmpty()) {
            return Optional.empty();
        }
        for (Pool pool : pools.values()) {
            if (fits(pool.doc, caller, asked, order)) {
                Optional<Box> claimed = claim(pool, caller, order);
                refill(pool);
                if (claimed.isPresent()) {
                    return claimed;
                }
                pool.missed.incrementAndGet();
                parts.ledger().counts().claimed(false);
            }
        }
        if (asked != null) {
            pool(caller, asked); // is there one at all?
        }
        return Optional.empty();
    }

    /** How many are warm and nobody's. */
    long ready() {
        return pools.values().stream().mapToLong(pool -> pool.ready.size()).sum();
    }

    private static boolean named(Pool pool, Caller caller, String name) {
        return pool.doc.tenant.equals(caller.tenant())
                && (pool.doc.name.equals(name) || pool.doc.id.equals(name));
    }

    private static boolean fits(PoolDoc pool, Caller caller, @Nullable String asked, Order order) {
        LimitsJson limits = EffectivePolicy.form(order.limits());
        return pool.tenant.equals(caller.tenant())
                && (asked == null || pool.name.equals(asked) || pool.id.equals(asked))
                && pool.template.equals(order.doc().template)
                && pool.tier.equals(order.doc().tier)
                && pool.root == order.doc().root
                && Objects.equals(pool.limits.diskBytes(), limits.diskBytes())
                && Objects.equals(pool.limits.inodes(), limits.inodes())
                && Objects.equals(pool.limits.openFiles(), limits.openFiles())
                && Objects.equals(pool.limits.ioBytesPerSecond(), limits.ioBytesPerSecond());
    }

    private Optional<Box> claim(Pool pool, Caller caller, Order order) {
        for (Box box = pool.ready.pollFirst(); box != null; box = pool.ready.pollFirst()) {
            if (box.doc().wayOut != order.wayOut()) {
                // A way out is made with the sandbox or not at all.
                discard(box);
            } else if (handOut(pool, box, caller, order)) {
                pool.claimed.incrementAndGet();
                parts.ledger().counts().claimed(true);
                return Optional.of(box);
            }
        }
        return Optional.empty();
    }

    private boolean handOut(Pool pool, Box box, Caller caller, Order order) {
        box.lock.lock();
        try {
            if (!box.doc().state.equals(SandboxDoc.POOLED)) {
                return false;
            }
            applyPolicy(box, order.limits());
            verify(box, order.limits());
            SandboxDoc doc = claimed(box, pool, caller, order);
            parts.secrets().open(box.id, doc.secrets);
            Ledger.Act making = Answers.making(box.id);
            lives.save(
                    box,
                    doc,
                    tx -> {
                        making.run(tx);
                        parts.ledger()
                                .event(
                                        tx,
                                        caller,
                                        EventType.SANDBOX_STARTED,
                                        doc.subject(),
                                        "claimed",
                                        Map.of("pool", pool.doc.id, "labels", doc.labels));
                    });
            box.env(order.env());
            box.touch(parts.ledger().now());
            renew(box, doc);
            lives.schedule(box);
            return true;
        } catch (CaissonException e) {
            parts.secrets().gone(box.id);
            // The name is taken, or the quota is used up: the sandbox is still nobody's.
            if (e.code() == ErrorCode.ALREADY_EXISTS || e.code() == ErrorCode.QUOTA_EXCEEDED) {
                back(pool, box);
                throw e;
            }
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("a warm sandbox could not be given out");
            discard(box);
            return false;
        } finally {
            box.lock.unlock();
        }
    }

    /** Its own end from now on; where the engine cannot be told the server alone knows it. */
    private void renew(Box box, SandboxDoc doc) {
        try {
            lives.renew(box, doc);
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("the end of a claimed sandbox is not known to its engine yet");
        }
    }

    /** As it was, for the next one. */
    private void back(Pool pool, Box box) {
        try {
            Limits before = Orders.limits(box.doc().limits);
            Quotas.Seat seat = box.seat();
            if (seat != null) {
                seat.change(before);
            }
            box.hosted().engine().setLimits(before);
            ready(pool, box);
        } catch (CaissonException e) {
            discard(box);
        }
    }

    /** Other limits are set in the engine, and the quota of the tenant is asked. */
    private static void applyPolicy(Box box, Limits wanted) {
        LimitsJson form = EffectivePolicy.form(wanted);
        if (!form.equals(box.doc().limits)) {
            Quotas.Seat seat = box.seat();
            if (seat != null) {
                seat.change(wanted);
            }
            box.hosted().engine().setLimits(wanted);
        }
    }

    private SandboxDoc claimed(Box box, Pool pool, Caller caller, Order order) {
        SandboxDoc asked = order.doc();
        SandboxDoc doc = box.draft();
        doc.state = SandboxDoc.RUNNING;
        doc.pool = pool.doc.id;
        doc.take(asked);
        doc.keyId = caller.keyId();
        doc.createdAt = parts.ledger().now();
        doc.startedAt = doc.createdAt;
        doc.timeoutAt =
                asked.timeoutMillis == null ? null : doc.createdAt.plusMillis(asked.timeoutMillis);
        doc.limits = EffectivePolicy.form(order.limits());
        if (!order.env().isEmpty()) {
            doc.env = parts.vault().seal("env " + doc.id, Json.write(order.env()));
        }
        return doc;
    }

    private void discard(Box box) {
        try {
            lives.end(box, EndReason.POLICY, null);
        } catch (CaissonException e) {
            LOG.atWarn().addKeyValue("sandbox", box.id).log("a warm sandbox could not be ended");
        }
    }

    // ---- filling

    /**
     * Filling costs as much as a cold start, so it waits until nobody has claimed for a while,
     * unless few are left.
     */
    private void refill(Pool pool) {
        if (pool.ready.size() <= pool.doc.size / FEW) {
            fill(pool);
        } else if (pool.waiting.compareAndSet(false, true)) {
            long claimed = pool.claimed.get();
            parts.later(
                    QUIET_MILLIS,
                    "caisson-pool-" + pool.doc.id,
                    () -> {
                        pool.waiting.set(false);
                        if (pool.claimed.get() == claimed) {
                            fill(pool);
                        } else {
                            refill(pool);
                        }
                    });
        }
    }

    private void fill(Pool pool) {
        if (pool.closed
                || pool.ready.size() >= pool.doc.size
                || !pool.filling.compareAndSet(false, true)) {
            return;
        }
        Thread.ofVirtual()
                .name("caisson-pool-" + pool.doc.id)
                .start(() -> {
                    boolean filled = false;
                    try {
                        filled = add(pool);
                    } finally {
                        pool.filling.set(false);
                    }
                    if (pool.closed) {
                        drain(pool);
                    } else if (filled) {
                        fill(pool); // one may have been taken since the last look
                    } else {
                        parts.later(RETRY_MILLIS, "caisson-pool-" + pool.doc.id, () -> fill(pool));
                    }
                });
    }

    /** Whether it could be filled. */
    private boolean add(Pool pool) {
        try {
            if (!parts.quotas().isActive(pool.doc.tenant)) {
                return false; // looked at again later
            }
            while (!pool.closed && pool.ready.size() < pool.doc.size) {
                ready(pool, warm(pool.doc));
            }
            return true;
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("pool", pool.doc.id)
                    .addKeyValue("cause", e.message())
                    .log("the pool cannot be filled now");
            return false;
        }
    }

    /** For the next one who asks, as long as it lives. */
    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private void ready(Pool pool, Box box) {
        pool.ready.addFirst(box);
        if (pool.watched.add(box.id)) {
            box.over.thenRun(() -> {
                pool.watched.remove(box.id);
                if (pool.ready.remove(box)) {
                    fill(pool);
                }
            });
        }
    }

    private Box warm(PoolDoc pool) {
        SandboxDoc doc = new SandboxDoc();
        doc.tenant = pool.tenant;
        doc.keyId = pool.keyId;
        doc.template = pool.template;
        doc.tier = pool.tier;
        doc.root = pool.root;
        doc.pool = pool.id;
        var engine = orders.engineOf(doc);
        doc.engine = engine.name();
        EffectivePolicy policy = parts.policies().effective(PoolOrders.owner(pool), null);
        doc.egress = pool.egress;
        doc.keyPolicy = pool.keyPolicy;
        List<EgressJson> egress = parts.policies().egress(doc);
        WayOut.require(engine, egress);
        doc.wayOut = WayOut.open(egress);
        Order order =
                new Order(
                        doc,
                        engine,
                        Orders.limits(pool.limits),
                        Map.of(),
                        Optional.empty(),
                        List.of(),
                        egress,
                        policy);
        Box box = lives.create(null, order, SandboxDoc.POOLED);
        try {
            verify(box, order.limits());
            return box;
        } catch (CaissonException e) {
            discard(box);
            throw e;
        }
    }

    /** Seen to be there, to run, and to have the limits that were asked for. */
    private static void verify(Box box, Limits limits) {
        EngineSandbox.Observation seen = box.hosted().engine().observe();
        if (seen.frozen()) {
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED, "The warm sandbox " + box.id + " is frozen.");
        }
        if (seen.enforced().isPresent() && !seen.enforced().get().are(limits)) {
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED,
                    "The warm sandbox " + box.id + " has other limits: " + seen.enforced().get());
        }
    }

    private void drain(Pool pool) {
        for (Box box = pool.ready.pollFirst(); box != null; box = pool.ready.pollFirst()) {
            discard(box);
        }
    }

    // ---- for callers

    @Override
    public PoolJson create(Caller caller, PoolRequest request) {
        Access.require(caller, "pools:write");
        if (!request.name().matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")
                || request.name().equals("none")) {
            throw CaissonException.invalid(
                    "name", "The name is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}, or it is none.");
        }
        Order order = orders.order(caller, PoolOrders.like(request));
        PoolDoc doc = new PoolDoc();
        doc.id = Ids.next(Ids.Kind.POOL);
        doc.name = request.name();
        doc.tenant = caller.tenant();
        doc.keyId = caller.keyId();
        doc.template = order.doc().template;
        doc.tier = order.doc().tier;
        doc.root = order.doc().root;
        doc.egress = order.doc().egress;
        doc.keyPolicy = order.doc().keyPolicy;
        doc.limits = EffectivePolicy.form(order.limits());
        doc.size = size(request.size());
        doc.createdAt = parts.ledger().now();
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.insert(Kind.POOL, row);
                    changed(tx, caller, doc, "created");
                });
        Pool pool = new Pool(doc, 1);
        pools.put(doc.id, pool);
        fill(pool);
        return form(pool);
    }

    private static int size(int size) {
        if (size < 0 || size > MAX_SIZE) {
            throw CaissonException.invalid("size", "A pool holds 0 to " + MAX_SIZE + " sandboxes.")
                    .withDetail("allowed", "0 to " + MAX_SIZE);
        }
        return size;
    }

    private void changed(Store.Tx tx, Caller caller, PoolDoc doc, String reason) {
        Map<String, Object> data = new HashMap<>();
        data.put("pool", doc.id);
        data.put("name", doc.name);
        data.put("size", (long) doc.size);
        parts.ledger()
                .event(
                        tx,
                        caller,
                        EventType.POOL_CHANGED,
                        Ledger.Subject.tenant(doc.tenant),
                        reason,
                        data);
    }

    private static PoolJson form(Pool pool) {
        PoolDoc doc = pool.doc;
        return new PoolJson(
                doc.id,
                doc.name,
                doc.tenant,
                doc.template,
                doc.tier,
                doc.limits,
                doc.root ? "allowed" : "denied",
                doc.size,
                pool.ready.size(),
                pool.claimed.get(),
                pool.missed.get(),
                doc.createdAt,
                pool.version);
    }

    private Pool pool(Caller caller, String idOrName) {
        return pools.values().stream()
                .filter(pool -> named(pool, caller, idOrName))
                .findFirst()
                .orElseThrow(() -> elsewhere(caller, idOrName));
    }

    private CaissonException elsewhere(Caller caller, String idOrName) {
        return parts.ledger()
                .read(tx -> Rows.find(tx, Kind.POOL, caller.tenant(), idOrName))
                .filter(row -> !parts.boxes().here(row))
                .map(row -> parts.boxes().elsewhere("pool", row))
                .orElseGet(() -> Rows.missing(Kind.POOL, Boxes.shown(idOrName)));
    }

    @Override
    public PoolJson find(Caller caller, String id) {
        Access.require(caller, "pools:read");
        return form(pool(caller, id));
    }

    @Override
    public Page<PoolJson> list(Caller caller, Listing listing) {
        Access.require(caller, "pools:read");
        Query query = Query.of(caller.tenant()).withNode(parts.node());
        Query page = parts.cursors().page(query, listing, "pools");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.POOL, page)),
                        query,
                        listing,
                        "pools",
                        row ->
                                form(
                                        pools.getOrDefault(
                                                row.id(),
                                                new Pool(PoolDoc.of(row), row.version()))));
    }

    @Override
    public PoolJson resize(Caller caller, String id, int size, @Nullable Long version) {
        Access.require(caller, "pools:write");
        Pool pool = pool(caller, id);
        int wanted = size(size);
        pool.lock.lock();
        try {
            PoolDoc doc = Json.read(Json.write(pool.doc), PoolDoc.class);
            doc.size = wanted;
            Row row = doc.row(pool.version, parts.node());
            Rows.match(row, Kind.POOL, version);
            Row now =
                    parts.ledger()
                            .write(tx -> {
                                Row written = tx.update(Kind.POOL, row);
                                changed(tx, caller, doc, "resized");
                                return written;
                            });
            pool.doc = doc;
            pool.version = now.version();
        } finally {
            pool.lock.unlock();
        }
        while (pool.ready.size() > pool.doc.size) {
            Box surplus = pool.ready.pollLast();
            if (surplus != null) {
                discard(surplus);
            }
        }
        fill(pool);
        return form(pool);
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "pools:write");
        Pool pool = pool(caller, id);
        pool.lock.lock();
        try {
            parts.ledger()
                    .act(tx -> {
                        if (tx.delete(Kind.POOL, pool.doc.id)) {
                            changed(tx, caller, pool.doc, "deleted");
                        }
                    });
            pools.remove(pool.doc.id);
            pool.closed = true;
        } finally {
            pool.lock.unlock();
        }
        drain(pool);
    }

    /** Deletes the pools of a tenant that goes. */
    void drop(String tenant) {
        pools.values()
                .removeIf(pool -> {
                    boolean his = pool.doc.tenant.equals(tenant);
                    if (his) {
                        pool.closed = true;
                        drain(pool);
                    }
                    return his;
                });
    }
}
