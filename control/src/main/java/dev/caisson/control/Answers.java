package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Ids;
import dev.caisson.core.Room;
import dev.caisson.v1.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Answers that are replayed. One row for each tenant, route and idempotency key, so that of several
 * servers one begins; bodies are encrypted with the server key, as they may tell what a tenant
 * does. A long body has a row of its own beside. An answer that holds a secret is completed with an
 * empty body: its replay has the status and no body. A sandbox, run or exec is noted in the row by
 * the transaction that makes it, so that it is found where its answer is lost. Thread-safe.
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

    /** The request with a key that this thread does. */
    private static final ScopedValue<Attempt> ATTEMPT = ScopedValue.newInstance();

    private static final Attempt NONE = new Attempt("", "");

    private final Ledger ledger;
    private final Vault vault;

    /** Requests that this server does now: attempts by the ids of their rows. */
    private final ConcurrentHashMap<String, String> live = new ConcurrentHashMap<>();

    Answers(Ledger ledger, Vault vault) {
        this.ledger = ledger;
        this.vault = vault;
    }

    /**
     * The body of a row.
     *
     * @param bodyHash of the request, keyed: a body may hold a secret that could be guessed
     * @param epoch of the server that began
     * @param status of the answer; 0: not known
     * @param sealed encrypted body; null: none, or beside
     * @param beside length of an encrypted body that has a row of its own; 0: it has not
     * @param headers of the answer; null: none
     * @param attempt of the request that does it
     * @param made id of what the request has made
     */
    record Doc(
            String bodyHash,
            long epoch,
            int status,
            @Nullable String sealed,
            long beside,
            @Nullable Map<String, String> headers,
            @Nullable String attempt,
            @Nullable String made) {
        Doc withMade(String id) {
            return new Doc(bodyHash, epoch, status, sealed, beside, headers, attempt, id);
        }

        Doc withAnswer(
                int newStatus,
                @Nullable String newSealed,
                long newBeside,
                Map<String, String> newHeaders) {
            return new Doc(
                    bodyHash, epoch, newStatus, newSealed, newBeside, newHeaders, attempt, made);
        }
    }

    /** A request that does what a key is for: the id of the row, and which one of them. */
    private record Attempt(String row, String id) {}

    /**
     * Notes what the request of this thread makes, in the transaction that makes it; nothing where
     * the request has no key.
     */
    static Ledger.Act making(String made) {
        Attempt attempt = ATTEMPT.orElse(NONE);
        return attempt.equals(NONE) ? tx -> {} : tx -> note(tx, attempt, made);
    }

    private static void note(Store.Tx tx, Attempt attempt, String made) {
        Row row = tx.find(Kind.ANSWER, attempt.row()).orElse(null);
        if (row != null && row.state().equals(RUNNING)) {
            Doc doc = Json.read(row.body(), Doc.class);
            if (attempt.id().equals(doc.attempt())) {
                tx.update(Kind.ANSWER, Rows.withBody(row, doc.withMade(made)));
            }
        }
    }

    /** Does something of which the parts that it makes are not noted. */
    static <T> T unnoted(ScopedValue.CallableOp<T, CaissonException> work) {
        return ScopedValue.where(ATTEMPT, NONE).call(work);
    }

    @Override
    public <T, X extends Exception> T during(
            Caller caller, String route, String key, ScopedValue.CallableOp<T, X> work) throws X {
        String id = id(caller, route, key);
        Attempt attempt = new Attempt(id, live.getOrDefault(id, ""));
        return ScopedValue.where(ATTEMPT, attempt).call(work);
    }

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
        String attempt = Ids.next(Ids.Kind.REQUEST);
        boolean alone = live.putIfAbsent(id, attempt) == null;
        boolean begun = false;
        try {
            Hashes hashes = new Hashes(bodyHash, keyed(bodyHash));
            Row fresh = running(id, caller.tenant(), hashes.keyed(), attempt);
            Optional<Doc> known = ledger.write(tx -> begin(tx, fresh, hashes, alone));
            begun = known.isEmpty();
            return known.map(doc -> answer(id, doc));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.ALREADY_EXISTS || e.code() == ErrorCode.PRECONDITION_FAILED) {
                // Another server was first by a moment.
                throw stillRunning();
            }
            throw e;
        } finally {
            if (!begun) {
                live.remove(id, attempt);
            }
        }
    }

    private String keyed(String bodyHash) {
        return HexFormat.of().formatHex(vault.hmac("request\n" + bodyHash));
    }

    /**
     * Of one body.
     *
     * @param plain as versions before this one stored it
     */
    private record Hashes(String plain, String keyed) {
        boolean are(String stored) {
            return Credentials.same(stored, keyed) || Credentials.same(stored, plain);
        }
    }

    private Row running(String id, String tenant, String bodyHash, String attempt) {
        Doc doc = new Doc(bodyHash, ledger.store().epoch(), 0, null, 0, null, attempt, null);
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

    /**
     * Begins in the store.
     *
     * @param alone no other request of this server does it
     */
    private Optional<Doc> begin(Store.Tx tx, Row fresh, Hashes hashes, boolean alone) {
        Row found = tx.find(Kind.ANSWER, fresh.id()).orElse(null);
        boolean broken = found != null && (alone ? mayBeMine(found) : abandoned(found));
        if (found == null || overdue(found) || (broken && !isMade(tx, found))) {
            if (!alone) {
                throw stillRunning();
            }
            if (found != null) {
                tx.delete(Kind.ANSWER, found.id());
                tx.delete(Kind.ANSWER, beside(found.id()));
            }
            tx.insert(Kind.ANSWER, fresh);
            return Optional.empty();
        }
        Doc doc = Json.read(found.body(), Doc.class);
        if (!hashes.are(doc.bodyHash())) {
            throw CaissonException.of(
                            ErrorCode.IDEMPOTENCY_MISMATCH,
                            "This idempotency key was used with another request.")
                    .withRemedy("Use a new key for a new request.");
        }
        if (found.state().equals(RUNNING) && !broken) {
            throw stillRunning();
        }
        return Optional.of(doc);
    }

    /** Whether what a request has made before it broke off is there. */
    private static boolean isMade(Store.Tx tx, Row row) {
        String made = Json.read(row.body(), Doc.class).made();
        if (made == null) {
            return false;
        }
        Kind kind =
                Ids.matches(Ids.Kind.SANDBOX, made)
                        ? Kind.SANDBOX
                        : Ids.matches(Ids.Kind.RUN, made) ? Kind.RUN : Kind.EXEC;
        return tx.find(kind, made).isPresent();
    }

    /** Takes the room of whoever asks before a long body is read. */
    private Answer answer(String id, Doc done) {
        String made = done.made();
        if (done.status() == 0 && made != null) {
            return Answer.ofMade(made);
        }
        Room.need(COST * done.beside());
        String sealed = done.beside() == 0 ? done.sealed() : besides(id);
        String body = sealed == null ? "" : vault.open(purpose(id), sealed);
        Map<String, String> headers = done.headers();
        return new Answer(done.status(), body, headers == null ? Map.of() : headers, null);
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

    /** Its day has passed. */
    private boolean overdue(Row row) {
        Instant due = row.due();
        return due != null && !ledger.now().isBefore(due);
    }

    /** The process that began it is gone: an earlier one of this node. */
    private boolean abandoned(Row row) {
        return mayBeMine(row) && Json.read(row.body(), Doc.class).epoch() < ledger.store().epoch();
    }

    /** Begun by this node: by this process, or by an earlier one. */
    private boolean mayBeMine(Row row) {
        return row.state().equals(RUNNING) && ledger.store().node().equals(row.node());
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
        ledger.write(tx -> complete(tx, id, answer, sealed));
        live.remove(id);
    }

    private boolean complete(Store.Tx tx, String id, Answer answer, @Nullable String sealed) {
        Row row = tx.find(Kind.ANSWER, id).filter(this::mine).orElse(null);
        if (row == null) {
            return false;
        }
        Doc before = Json.read(row.body(), Doc.class);
        long length = sealed == null ? 0 : sealed.length();
        boolean inline = length <= INLINE;
        Doc doc =
                before.withAnswer(
                        answer.status(),
                        inline ? sealed : null,
                        inline ? 0 : length,
                        answer.headers());
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

    /** Begun by the request that this server does now. */
    private boolean mine(Row row) {
        String attempt = live.get(row.id());
        return mayBeMine(row)
                && attempt != null
                && attempt.equals(Json.read(row.body(), Doc.class).attempt());
    }

    @Override
    public void abandon(Caller caller, String route, String key) {
        String id = id(caller, route, key);
        try {
            ledger.write(tx ->
                    tx.find(Kind.ANSWER, id).filter(this::mine).isPresent()
                            && tx.delete(Kind.ANSWER, id));
        } finally {
            live.remove(id);
        }
    }

    @Override
    public void leave(Caller caller, String route, String key) {
        live.remove(id(caller, route, key));
    }

    /** Clears what an earlier process of this node had begun and not made; once at start. */
    void start() {
        Query begun = Query.ALL.withNode(ledger.store().node()).withStates(RUNNING);
        ledger.write(tx -> {
            tx.list(Kind.ANSWER, begun).stream()
                    .filter(this::abandoned)
                    .filter(row -> !isMade(tx, row))
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
