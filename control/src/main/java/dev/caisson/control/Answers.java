package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Room;
import dev.caisson.v1.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Answers that are replayed. One row for each tenant, route and idempotency key, so that of several
 * servers one begins; bodies are encrypted with the server key, as they may tell what a tenant
 * does. A long body has a row of its own beside. An answer that holds a secret is completed with an
 * empty body: its replay has the status and no body. Thread-safe.
 */
final class Answers implements Idempotency {
    private static final String RUNNING = "running";
    private static final String DONE = "done";

    /** Of a row that holds the body of another one. */
    private static final String BODY = "body";

    private static final Duration KEPT = Duration.ofHours(24);
    private static final int MAX_KEY = 255;

    /** Longer bodies are beside their rows, so that their size is known before they are read. */
    private static final int INLINE = 64 << 10;

    /** What a character of a body costs from its row to the answer. */
    private static final long COST = 6;

    private static final long RETRY_MILLIS = 1000;

    private final Ledger ledger;
    private final Vault vault;

    Answers(Ledger ledger, Vault vault) {
        this.ledger = ledger;
        this.vault = vault;
    }

    /**
     * The body of a row.
     *
     * @param bodyHash of the request
     * @param epoch of the server that began
     * @param status of the answer; 0: not known
     * @param sealed encrypted body; null: none, or beside
     * @param beside length of an encrypted body that has a row of its own; 0: it has not
     */
    record Doc(String bodyHash, long epoch, int status, @Nullable String sealed, long beside) {}

    private static String id(Caller caller, String route, String key) {
        if (key.isEmpty()
                || key.length() > MAX_KEY
                || !key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw CaissonException.invalid(
                            "Idempotency-Key",
                            "An idempotency key has 1 to 255 visible ASCII characters.")
                    .withRemedy("Send a random UUID.");
        }
        return Credentials.sha256(Json.write(List.of(caller.tenant(), route, key)));
    }

    @Override
    public Optional<Answer> begin(Caller caller, String route, String key, String bodyHash) {
        String id = id(caller, route, key);
        Row fresh = running(id, caller.tenant(), bodyHash);
        try {
            return ledger.write(tx -> begin(tx, fresh, bodyHash)).map(done -> answer(id, done));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.ALREADY_EXISTS || e.code() == ErrorCode.PRECONDITION_FAILED) {
                // Another server was first by a moment.
                throw stillRunning();
            }
            throw e;
        }
    }

    private Row running(String id, String tenant, String bodyHash) {
        Doc doc = new Doc(bodyHash, ledger.store().epoch(), 0, null, 0);
        Instant now = ledger.now();
        return new Row(
                id,
                tenant,
                null,
                null,
                RUNNING,
                ledger.store().node(),
                now,
                now.plus(KEPT),
                Map.of(),
                1,
                Json.write(doc));
    }

    private Optional<Doc> begin(Store.Tx tx, Row fresh, String bodyHash) {
        Row found = tx.find(Kind.ANSWER, fresh.id()).orElse(null);
        if (found == null || over(found)) {
            if (found != null) {
                tx.delete(Kind.ANSWER, found.id());
                tx.delete(Kind.ANSWER, beside(found.id()));
            }
            tx.insert(Kind.ANSWER, fresh);
            return Optional.empty();
        }
        Doc doc = Json.read(found.body(), Doc.class);
        if (!Credentials.same(doc.bodyHash(), bodyHash)) {
            throw CaissonException.of(
                            ErrorCode.IDEMPOTENCY_MISMATCH,
                            "This idempotency key was used with another request.")
                    .withRemedy("Use a new key for a new request.");
        }
        if (found.state().equals(RUNNING)) {
            throw stillRunning();
        }
        return Optional.of(doc);
    }

    /** Takes the room of whoever asks before a long body is read. */
    private Answer answer(String id, Doc done) {
        Room.need(COST * done.beside());
        String sealed = done.beside() == 0 ? done.sealed() : besides(id);
        String body = sealed == null ? "" : vault.open(purpose(id), sealed);
        return new Answer(done.status(), body);
    }

    private String besides(String id) {
        return ledger.read(tx -> tx.find(Kind.ANSWER, beside(id)))
                .map(Row::body)
                .map(body -> Json.read(body, Body.class).sealed())
                // Its day was over in this moment: there is nothing to be replayed.
                .orElseThrow(Answers::stillRunning);
    }

    /** What is in a row beside. */
    record Body(String sealed) {}

    private static String beside(String id) {
        return id + ".body";
    }

    /** Its day has passed, or the process that began it is gone: an earlier one of this node. */
    private boolean over(Row row) {
        Instant due = row.due();
        return (due != null && !ledger.now().isBefore(due)) || abandoned(row);
    }

    private boolean abandoned(Row row) {
        return row.state().equals(RUNNING)
                && ledger.store().node().equals(row.node())
                && Json.read(row.body(), Doc.class).epoch() < ledger.store().epoch();
    }

    private static CaissonException stillRunning() {
        return CaissonException.of(ErrorCode.CONFLICT, "The same request is still being answered.")
                .withRemedy("Send it again in a moment.")
                .withDetail("retryAfterMillis", Long.toString(RETRY_MILLIS));
    }

    private static String purpose(String id) {
        return "answer\n" + id;
    }

    @Override
    public void complete(Caller caller, String route, String key, Answer answer) {
        String id = id(caller, route, key);
        String sealed = answer.body().isEmpty() ? null : vault.seal(purpose(id), answer.body());
        ledger.write(tx -> complete(tx, id, answer.status(), sealed));
    }

    private boolean complete(Store.Tx tx, String id, int status, @Nullable String sealed) {
        Row row = tx.find(Kind.ANSWER, id).filter(this::mine).orElse(null);
        if (row == null) {
            return false;
        }
        Doc before = Json.read(row.body(), Doc.class);
        long length = sealed == null ? 0 : sealed.length();
        Doc doc =
                length > INLINE
                        ? new Doc(before.bodyHash(), before.epoch(), status, null, length)
                        : new Doc(before.bodyHash(), before.epoch(), status, sealed, 0);
        tx.update(Kind.ANSWER, Rows.with(row, DONE, row.due(), doc));
        if (length > INLINE && sealed != null) {
            tx.insert(Kind.ANSWER, beside(row, sealed));
        }
        return true;
    }

    private static Row beside(Row row, String sealed) {
        return new Row(
                beside(row.id()),
                row.tenant(),
                null,
                null,
                BODY,
                row.node(),
                row.created(),
                row.due(),
                Map.of(),
                1,
                Json.write(new Body(sealed)));
    }

    private boolean mine(Row row) {
        return row.state().equals(RUNNING)
                && ledger.store().node().equals(row.node())
                && !abandoned(row);
    }

    @Override
    public void abandon(Caller caller, String route, String key) {
        String id = id(caller, route, key);
        ledger.write(tx ->
                tx.find(Kind.ANSWER, id).filter(this::mine).isPresent()
                        && tx.delete(Kind.ANSWER, id));
    }

    /** Clears what an earlier process of this node had begun; called once at start. */
    void start() {
        Query begun = Query.ALL.withNode(ledger.store().node()).withStates(RUNNING);
        ledger.write(tx -> {
            tx.list(Kind.ANSWER, begun).stream()
                    .filter(this::abandoned)
                    .forEach(row -> tx.delete(Kind.ANSWER, row.id()));
            return true;
        });
    }

    /** Deletes what is older than a day; a timer calls it. */
    long purge() {
        Instant now = ledger.now();
        return ledger.write(tx -> tx.deleteAll(Kind.ANSWER, Query.ALL.withDueBefore(now)));
    }
}
