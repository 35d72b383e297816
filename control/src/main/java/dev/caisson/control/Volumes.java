package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.Ids;
import dev.caisson.core.VolumeMount;
import dev.caisson.v1.Page;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeMountJson;
import dev.caisson.v1.VolumeRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Disks that outlive sandboxes. Thread-safe. */
final class Volumes implements VolumeService {
    private static final long DEFAULT_INODES = 64 << 10;

    private final Parts parts;

    Volumes(Parts parts) {
        this.parts = parts;
    }

    private Engine engine() {
        return parts.engines()
                .of(Tier.CONTAINER)
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.LAUNCHER_UNAVAILABLE,
                                "The engine that keeps volumes is away."));
    }

    @Override
    public VolumeJson create(Caller caller, VolumeRequest request) {
        Access.require(caller, "volumes:write");
        if (!request.name().matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")) {
            throw CaissonException.invalid(
                    "name", "The name is not [A-Za-z0-9_][A-Za-z0-9._-]{0,62}.");
        }
        VolumeDoc doc = new VolumeDoc();
        doc.id = Ids.next(Ids.Kind.VOLUME);
        doc.name = request.name();
        doc.tenant = caller.tenant();
        doc.tier = Tier.CONTAINER.value();
        doc.labels = Orders.labels(request.labels());
        doc.diskBytes =
                request.diskBytes() == null ? ByteSize.ofGib(1).bytes() : request.diskBytes();
        doc.inodes = request.inodes() == null ? DEFAULT_INODES : request.inodes();
        doc.createdAt = parts.ledger().now();
        check(caller, doc);
        Row intent = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.insert(Kind.VOLUME, intent);
                });
        make(caller, doc);
        return form(doc, 0, List.of());
    }

    /** The bounds are those of a sandbox's disk. */
    private void check(Caller caller, VolumeDoc doc) {
        parts.policies()
                .effective(caller, null)
                .limits(
                        new dev.caisson.v1.LimitsJson(
                                null,
                                null,
                                null,
                                doc.diskBytes,
                                doc.inodes,
                                null,
                                null,
                                null,
                                null,
                                null));
    }

    private void make(Caller caller, VolumeDoc doc) {
        try {
            parts.disks().keep(doc.id, doc.tenant, doc.diskBytes);
            engine().makeVolume(doc.id, ByteSize.of(doc.diskBytes), doc.inodes);
        } catch (CaissonException e) {
            parts.disks().release(doc.id);
            parts.ledger().write(tx -> tx.delete(Kind.VOLUME, doc.id));
            throw e;
        }
        doc.state = VolumeDoc.READY;
        Row row = doc.row(1, parts.node());
        parts.ledger()
                .act(tx -> {
                    tx.update(Kind.VOLUME, row);
                    parts.ledger()
                            .event(
                                    tx,
                                    caller,
                                    EventType.VOLUME_CREATED,
                                    Ledger.Subject.tenant(doc.tenant),
                                    "",
                                    Map.of("volume", doc.id, "name", doc.name));
                });
    }

    /** The mounts of a request, each a volume of the caller's tenant. */
    List<VolumeMount> mounts(Caller caller, List<VolumeMountJson> asked) {
        return asked.stream()
                .map(form ->
                        new VolumeMount(
                                mine(caller, form.volume()).id(), form.path(), form.readOnly()))
                .toList();
    }

    /**
     * One that can be used at this server.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#WRONG_SERVER}
     */
    VolumeDoc here(Caller caller, String idOrName) {
        return VolumeDoc.of(mine(caller, idOrName));
    }

    private Row mine(Caller caller, String idOrName) {
        Row row = row(caller, idOrName);
        if (!parts.boxes().here(row)) {
            throw parts.boxes().elsewhere("volume", row);
        }
        return row;
    }

    private Row row(Caller caller, String idOrName) {
        Optional<Row> row =
                parts.ledger()
                        .read(tx ->
                                Ids.matches(Ids.Kind.VOLUME, idOrName)
                                        ? tx.find(Kind.VOLUME, idOrName)
                                        : tx.named(Kind.VOLUME, caller.tenant(), idOrName));
        return row.filter(found -> found.tenant().equals(caller.tenant()))
                .filter(found -> found.state().equals(VolumeDoc.READY))
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND,
                                "There is no volume '" + Boxes.shown(idOrName) + "'."));
    }

    private List<String> users(String volume) {
        return parts.boxes().all().stream()
                .filter(box ->
                        box.doc().volumes.stream().anyMatch(it -> it.volume().equals(volume)))
                .map(box -> box.id)
                .toList();
    }

    private static VolumeJson form(VolumeDoc doc, long allocated, List<String> users) {
        return new VolumeJson(
                doc.id,
                doc.name,
                doc.tenant,
                doc.diskBytes,
                allocated,
                doc.labels,
                users,
                doc.createdAt);
    }

    @Override
    public VolumeJson find(Caller caller, String id) {
        Access.require(caller, "volumes:read");
        Row row = row(caller, id);
        VolumeDoc doc = VolumeDoc.of(row);
        if (!parts.boxes().here(row)) {
            return form(doc, 0, List.of()); // what it holds, only its server sees
        }
        long allocated =
                engine().volumes().stream()
                        .filter(disk -> disk.id().equals(doc.id))
                        .mapToLong(disk -> disk.allocated().bytes())
                        .sum();
        return form(doc, allocated, users(doc.id));
    }

    @Override
    public Page<VolumeJson> list(Caller caller, Listing listing) {
        Access.require(caller, "volumes:read");
        Query query = Query.of(caller.tenant());
        Listing ready =
                new Listing(
                        listing.limit(),
                        listing.cursor(),
                        java.util.Set.of(VolumeDoc.READY),
                        listing.labels(),
                        listing.name());
        Query page = parts.cursors().page(query, ready, "volumes");
        return parts.cursors()
                .answer(
                        parts.ledger().read(tx -> tx.list(Kind.VOLUME, page)),
                        query,
                        ready,
                        "volumes",
                        row -> form(VolumeDoc.of(row), 0, users(row.id())));
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "volumes:write");
        Row row = mine(caller, id);
        List<String> users = users(row.id());
        if (!users.isEmpty()) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The volume " + row.name() + " is mounted by " + users.getFirst())
                    .withRemedy("End that sandbox first.");
        }
        delete(caller, VolumeDoc.of(row), row.version());
    }

    void delete(Caller caller, VolumeDoc doc, long version) {
        doc.state = VolumeDoc.DELETING;
        Row deleting = doc.row(version, parts.node());
        parts.ledger().write(tx -> tx.update(Kind.VOLUME, deleting));
        try {
            engine().dropVolume(doc.id);
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.NOT_FOUND) {
                doc.state = VolumeDoc.READY; // it can be asked for and deleted again
                Row ready = doc.row(version + 1, parts.node());
                parts.ledger().write(tx -> tx.update(Kind.VOLUME, ready));
                throw e;
            }
        }
        parts.disks().release(doc.id);
        parts.ledger()
                .act(tx -> {
                    tx.delete(Kind.VOLUME, doc.id);
                    parts.ledger()
                            .event(
                                    tx,
                                    caller,
                                    EventType.VOLUME_DELETED,
                                    Ledger.Subject.tenant(doc.tenant),
                                    "",
                                    Map.of("volume", doc.id, "name", doc.name));
                });
    }
}
