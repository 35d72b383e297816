package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** The living sandboxes of this server, and how a caller finds one. Thread-safe. */
final class Boxes {
    private static final Pattern ID = Pattern.compile("sb[a-z0-9]{20}");
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}");

    private final Ledger ledger;
    private final ConcurrentHashMap<String, Box> boxes = new ConcurrentHashMap<>();

    Boxes(Ledger ledger) {
        this.ledger = ledger;
    }

    void add(Box box) {
        boxes.put(box.id, box);
    }

    void remove(Box box) {
        boxes.remove(box.id, box);
    }

    Collection<Box> all() {
        return boxes.values();
    }

    Optional<Box> of(String id) {
        return Optional.ofNullable(boxes.get(id));
    }

    static CaissonException unknown(String id) {
        return CaissonException.of(ErrorCode.NOT_FOUND, "There is no sandbox '" + shown(id) + "'.")
                .withRemedy("List the sandboxes of this tenant, or create one.");
    }

    static String shown(String id) {
        return id.length() > 64 ? id.substring(0, 64) + "…" : id;
    }

    /**
     * The living sandbox of that id or name.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}; {@link ErrorCode#SANDBOX_ENDED} with
     *     the reason when it is over; {@link ErrorCode#WRONG_SERVER} when another server has it
     */
    Box living(Caller caller, String idOrName) {
        Box box = boxes.get(idOrName);
        if (box != null) {
            return mine(caller, box, idOrName);
        }
        Row row = row(caller, idOrName);
        box = boxes.get(row.id());
        if (box != null) {
            return mine(caller, box, idOrName);
        }
        SandboxDoc doc = SandboxDoc.of(row);
        if (doc.over()) {
            throw CaissonException.of(
                            ErrorCode.SANDBOX_ENDED,
                            "The sandbox " + doc.id + " has ended: " + doc.reason + ".")
                    .withDetail("reason", String.valueOf(doc.reason))
                    .withDetail("endedAt", String.valueOf(doc.endedAt));
        }
        if (here(row)) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE,
                    "The sandbox " + row.id() + " is not ready: " + row.state() + ".");
        }
        throw elsewhere("sandbox", row);
    }

    /** Whether what a row is of is at this server. */
    boolean here(Row row) {
        return ledger.store().node().equals(row.node());
    }

    /** Sends the caller to the server that has it. */
    CaissonException elsewhere(String noun, Row row) {
        return elsewhere(noun, row.id(), String.valueOf(row.node()));
    }

    /** The same for what is at that server. */
    CaissonException elsewhere(String noun, String id, String node) {
        String address = ledger.read(tx -> tx.meta("address." + node)).orElse("");
        return CaissonException.of(
                        ErrorCode.WRONG_SERVER,
                        "The " + noun + " " + id + " is on the server " + node + ".")
                .withRemedy("Ask that server.")
                .withDetail("node", node)
                .withDetail("address", address);
    }

    private static Box mine(Caller caller, Box box, String asked) {
        if (!box.tenant.equals(caller.tenant()) || box.state().equals(SandboxDoc.POOLED)) {
            throw unknown(asked);
        }
        return box;
    }

    /** The row of a sandbox of the caller's tenant, living or not. */
    Row row(Caller caller, String idOrName) {
        Optional<Row> row = Optional.empty();
        if (ID.matcher(idOrName).matches()) {
            row = ledger.read(tx -> tx.find(Kind.SANDBOX, idOrName));
        }
        if (row.isEmpty() && NAME.matcher(idOrName).matches()) {
            row = ledger.read(tx -> tx.named(Kind.SANDBOX, caller.tenant(), idOrName));
        }
        return row.filter(found ->
                        found.tenant().equals(caller.tenant())
                                && !found.state().equals(SandboxDoc.POOLED))
                .orElseThrow(() -> unknown(idOrName));
    }
}
