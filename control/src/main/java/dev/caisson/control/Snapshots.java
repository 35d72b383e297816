package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import dev.caisson.v1.Page;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Saved file systems. A half-made one is never listed. Thread-safe. */
final class Snapshots implements SnapshotService {
    private static final Logger LOG = LoggerFactory.getLogger(Snapshots.class);

    private final Parts parts;

    Snapshots(Parts parts) {
        this.parts = parts;
    }

    @Override
    public SnapshotJson create(Caller caller, String sandbox, SnapshotRequest request) {
        Access.require(caller, "snapshots:write");
        Box box = parts.boxes().living(caller, sandbox);
        if (Boolean.TRUE.equals(request.memory())) {
            throw parts.engines()
                    .unsupported(
                            Tier.of(box.doc().tier),
                            "save memory",
                            "memory",
                            List.of(Tier.GVISOR, Tier.MICROVM),
                            Engine.Capabilities::memorySnapshot);
        }
        return save(caller, box, name(request.name()), Orders.labels(request.labels())).form();
    }

    private static @Nullable String name(@Nullable String name) {
        if (name != null && !name.matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")) {
            throw CaissonException.invalid(
                    "name", "The name is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}.");
        }
        return name;
    }

    /** Saves a sandbox; durable when this returns. */
    SnapshotDoc save(Caller caller, Box box, @Nullable String name, Map<String, String> labels) {
        box.lock.lock();
        try {
            if (!box.doc().state.equals(SandboxDoc.RUNNING)
                    && !"memory".equals(box.doc().pauseMode)) {
                Pauses.mustBe(box, SandboxDoc.RUNNING);
            }
            box.mustLive();
            SnapshotDoc doc = intent(box, name, labels);
            try {
                keep(caller, box, doc);
            } catch (CaissonException e) {
                parts.disks().release(doc.id);
                drop(doc);
                parts.ledger().write(tx -> tx.delete(Kind.SNAPSHOT, doc.id));
                throw e;
            }
            return doc;
        } finally {
            box.lock.unlock();
        }
    }

    private void keep(Caller caller, Box box, SnapshotDoc doc) {
        long used = box.hosted().engine().observe().disk().bytes();
        parts.disks().keep(doc.id, doc.tenant, used);
        EngineSandbox.Saved saved = box.hosted().engine().save(doc.id);
        // What was written since the look, and what saving adds.
        parts.disks().correct(doc.id, saved.bytes().bytes());
        doc.state = SnapshotDoc.READY;
        doc.bytes = saved.bytes().bytes();
        doc.heldMillis = saved.held().toMillis();
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.update(Kind.SNAPSHOT, row);
                    parts.ledger()
                            .event(
                                    tx,
                                    caller,
                                    EventType.SNAPSHOT_CREATED,
                                    box.doc().subject(),
                                    "",
                                    Map.of("snapshot", doc.id, "bytes", doc.bytes));
                });
    }

    /** What stays behind is a disk without a row: the next start drops it. */
    private void drop(SnapshotDoc doc) {
        try {
            parts.engines().of(Tier.of(doc.tier)).ifPresent(engine -> engine.dropSnapshot(doc.id));
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                LOG.atWarn()
                        .addKeyValue("snapshot", doc.id)
                        .addKeyValue("cause", e.message())
                        .log("a saved disk could not be dropped");
            }
        }
    }

    private SnapshotDoc intent(Box box, @Nullable String name, Map<String, String> labels) {
        SnapshotDoc doc = new SnapshotDoc();
        doc.id = Ids.next(Ids.Kind.SNAPSHOT);
        doc.name = name;
        doc.tenant = box.tenant;
        doc.sandbox = box.id;
        doc.tier = box.doc().tier;
        doc.template = box.doc().template;
        doc.limits = box.doc().limits;
        doc.labels = labels;
        doc.createdAt = parts.ledger().now();
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.insert(Kind.SNAPSHOT, row);
                });
        return doc;
    }

    /** One that may be started from: its disk is at this server. */
    SnapshotDoc ready(Caller caller, String idOrName) {
        Row row = row(caller, idOrName);
        if (!parts.boxes().here(row)) {
            throw parts.boxes().elsewhere("snapshot", row);
        }
        return SnapshotDoc.of(row);
    }

    private Row row(Caller caller, String idOrName) {
        Optional<Row> row =
                parts.ledger()
                        .read(tx ->
                                Ids.matches(Ids.Kind.SNAPSHOT, idOrName)
                                        ? tx.find(Kind.SNAPSHOT, idOrName)
                                        : tx.named(Kind.SNAPSHOT, caller.tenant(), idOrName));
        return row.filter(found -> found.tenant().equals(caller.tenant()))
                .filter(found -> found.state().equals(SnapshotDoc.READY))
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND,
                                "There is no snapshot '" + Boxes.shown(idOrName) + "'."));
    }

    @Override
    public SnapshotJson find(Caller caller, String id) {
        Access.require(caller, "snapshots:read");
        return SnapshotDoc.of(row(caller, id)).form();
    }

    @Override
    public Page<SnapshotJson> list(Caller caller, Listing listing) {
        Access.require(caller, "snapshots:read");
        Query query = Query.of(caller.tenant()).withStates(SnapshotDoc.READY);
        Listing ready =
                new Listing(
                        listing.limit(),
                        listing.cursor(),
                        java.util.Set.of(SnapshotDoc.READY),
                        listing.labels(),
                        listing.name());
        Query page = parts.cursors().page(query, ready, "snapshots");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.SNAPSHOT, page)),
                        query,
                        ready,
                        "snapshots",
                        row -> SnapshotDoc.of(row).form());
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "snapshots:write");
        delete(caller, ready(caller, id));
    }

    void delete(Caller caller, SnapshotDoc doc) {
        parts.ledger()
                .act(tx -> {
                    if (tx.delete(Kind.SNAPSHOT, doc.id)) {
                        parts.ledger()
                                .event(
                                        tx,
                                        caller,
                                        EventType.SNAPSHOT_DELETED,
                                        Ledger.Subject.sandbox(doc.tenant, doc.sandbox, null),
                                        "",
                                        Map.of("snapshot", doc.id));
                    }
                });
        parts.disks().release(doc.id);
        drop(doc);
    }
}
