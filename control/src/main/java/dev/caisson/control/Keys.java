package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.Page;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.RotateRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Keys: made, found, rotated, revoked, and what they authenticate. Read from the store at most
 * every two seconds; what this server revokes counts at once. Thread-safe.
 */
final class Keys implements KeyService {
    static final String ACTIVE = "active";
    static final String REVOKED = "revoked";

    private static final String NOUN = "keys";
    private static final Duration TTL = Duration.ofSeconds(2);
    private static final Duration USE_WRITTEN = Duration.ofMinutes(1);
    private static final Duration MAX_OVERLAP = Duration.ofDays(30);
    private static final int ID_TRIES = 3;
    private static final String NO_HASH = Credentials.sha256("");

    /** The label by which a row is found by its name: names of keys are not unique. */
    private static final String NAME = "name";

    private final Ledger ledger;
    private final Cursors cursors;
    private final Directory directory;
    private final Attempts attempts = new Attempts();
    private final Recent<Optional<Known>> known;
    private final Throttle used;

    Keys(Ledger ledger, Cursors cursors, Directory directory) {
        this.ledger = ledger;
        this.cursors = cursors;
        this.directory = directory;
        this.known = new Recent<>(ledger::now, TTL);
        this.used = new Throttle(ledger::now, USE_WRITTEN);
    }

    /** A key as it was read. */
    private record Known(Row row, KeyDoc doc) {
        static Known of(Row row) {
            return new Known(row, Json.read(row.body(), KeyDoc.class));
        }
    }

    /**
     * Who presents this key.
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}, the same for every cause; {@link
     *     ErrorCode#POLICY_DENIED} for a valid key of a suspended tenant
     */
    Caller authenticate(String key) {
        Instant now = ledger.now();
        Credentials.Presented presented = Credentials.parse(key).orElseThrow(Credentials::refused);
        String hash = Credentials.hash(presented.id(), presented.secret());
        if (!attempts.allows(presented.id(), hash, now)) {
            throw Credentials.refused();
        }
        Known found = read(presented.id()).orElse(null);
        if (found == null) {
            // As much work as for a key that is there.
            Credentials.same(NO_HASH, hash);
            throw Credentials.refused();
        }
        if (!found.doc().accepts(hash, now)) {
            attempts.failed(presented.id(), now);
            throw Credentials.refused();
        }
        attempts.succeeded(presented.id(), hash, now);
        directory.requireActive(found.row().tenant());
        noteUse(presented.id(), found.doc(), now);
        return caller(found, found.doc().proof(hash));
    }

    /**
     * Refuses a caller of earlier whose key, secret or tenant is good no more. A token has no key:
     * what was begun with it goes on, and links and tickets end with it by themselves.
     */
    void requireStill(Caller caller) {
        if (caller.keyId().startsWith(Tokens.PREFIX)) {
            directory.requireActive(caller.tenant());
            return;
        }
        Known found = read(caller.keyId()).orElseThrow(Credentials::refused);
        if (!found.doc().honours(caller.proof().mark(), ledger.now())) {
            throw Credentials.refused();
        }
        directory.requireActive(found.row().tenant());
    }

    private Optional<Known> read(String id) {
        return known.get(id, () -> ledger.read(tx -> tx.find(Kind.KEY, id)).map(Known::of));
    }

    private static Caller caller(Known key, Proof proof) {
        KeyDoc doc = key.doc();
        String name = doc.name();
        return new Caller(
                key.row().tenant(),
                key.row().id(),
                name == null ? key.row().id() : name,
                Role.of(doc.role()),
                Set.copyOf(doc.scopes()),
                doc.policyId(),
                false,
                Map.of(),
                null,
                proof);
    }

    /** At most one write a minute, which nobody waits for. */
    @SuppressWarnings("FutureReturnValueIgnored") // It may be lost.
    private void noteUse(String id, KeyDoc doc, Instant now) {
        Instant last = doc.lastUsedAt();
        if (last != null && now.isBefore(last.plus(USE_WRITTEN))) {
            return;
        }
        if (used.pass(id)) {
            ledger.submit(tx -> writeUse(tx, id, now));
        }
    }

    private static boolean writeUse(Store.Tx tx, String id, Instant now) {
        Row row = tx.find(Kind.KEY, id).orElse(null);
        if (row == null || !row.state().equals(ACTIVE)) {
            return false;
        }
        KeyDoc doc = Json.read(row.body(), KeyDoc.class);
        tx.update(Kind.KEY, named(Rows.withBody(row, doc.withLastUsedAt(now)), doc));
        return true;
    }

    /**
     * First start: the home tenant {@code default} with its policy and one admin key, told once,
     * here; empty at every later start, on this and on other servers.
     */
    Optional<KeyJson> bootstrap() {
        try {
            return ledger.write(this::firstKey);
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.ALREADY_EXISTS || e.code() == ErrorCode.PRECONDITION_FAILED) {
                // Another server was first.
                return Optional.empty();
            }
            throw e;
        } finally {
            directory.forget();
            known.forget();
        }
    }

    private Optional<KeyJson> firstKey(Store.Tx tx) {
        if (tx.meta(Directory.HOME).isPresent()) {
            return Optional.empty();
        }
        Row tenant = Tenants.fresh("default", Map.of(), null, ledger.now());
        tx.insert(Kind.TENANT, tenant);
        tx.insert(Kind.POLICY, Policies.own(tenant.id(), PolicyJson.defaults(), ledger.now()));
        tx.meta(Directory.HOME, tenant.id());
        Ledger.Subject about = Ledger.Subject.tenant(tenant.id());
        ledger.event(tx, EventType.TENANT_CREATED, about, "first_start", Map.of());
        String secret = Credentials.newSecret();
        String id = Credentials.newId();
        KeyDoc doc =
                new KeyDoc(
                        "first",
                        Role.ADMIN.value(),
                        List.of(),
                        null,
                        null,
                        null,
                        null,
                        null,
                        Credentials.hash(id, secret),
                        null,
                        null,
                        List.of());
        Row row = named(Rows.fresh(id, tenant.id(), null, ACTIVE, ledger.now(), doc), doc);
        tx.insert(Kind.KEY, row);
        ledger.event(tx, EventType.KEY_CREATED, about, "first_start", Map.of("key", id));
        return Optional.of(doc.form(row, Credentials.text(id, secret)));
    }

    private static Row named(Row row, KeyDoc doc) {
        String name = doc.name();
        return Rows.withLabels(row, name == null ? Map.of() : Map.of(NAME, name));
    }

    @Override
    public KeyJson create(Caller caller, KeyRequest request) {
        Access.require(caller, "keys:write");
        Role role = KeyRules.check(caller, request);
        for (int i = 1; ; i++) {
            String id = Credentials.newId();
            try {
                KeyJson made = ledger.write(tx -> insert(tx, caller, request, role, id));
                known.forget();
                return made;
            } catch (CaissonException e) {
                // Ids of keys are short: another one may have it.
                if (e.code() != ErrorCode.ALREADY_EXISTS || i == ID_TRIES) {
                    throw e;
                }
            }
        }
    }

    private KeyJson insert(Store.Tx tx, Caller caller, KeyRequest request, Role role, String id) {
        Row policy = KeyRules.policy(tx, caller, request.policy());
        Instant now = ledger.now();
        String secret = Credentials.newSecret();
        KeyDoc doc =
                new KeyDoc(
                        request.name(),
                        role.value(),
                        request.scopes(),
                        policy == null ? null : policy.name(),
                        policy == null ? null : policy.id(),
                        KeyRules.end(tx, caller, request.expiresInMillis(), now),
                        null,
                        null,
                        Credentials.hash(id, secret),
                        null,
                        null,
                        Lineage.of(tx, id, List.of(), caller, now));
        Row row = named(Rows.fresh(id, caller.tenant(), null, ACTIVE, now, doc), doc);
        tx.insert(Kind.KEY, row);
        event(tx, caller, EventType.KEY_CREATED, row, Map.of("key", id, "role", role.value()));
        return doc.form(row, Credentials.text(id, secret));
    }

    private void event(
            Store.Tx tx, Caller caller, EventType type, Row row, Map<String, Object> data) {
        ledger.event(tx, caller, type, Ledger.Subject.tenant(row.tenant()), "requested", data);
    }

    private static KeyJson form(Row row) {
        return Json.read(row.body(), KeyDoc.class).form(row, null);
    }

    @Override
    public KeyJson find(Caller caller, String id) {
        Access.require(caller, "keys:read");
        return form(ledger.read(tx -> Rows.require(tx, Kind.KEY, caller.tenant(), id)));
    }

    @Override
    public Page<KeyJson> list(Caller caller, Listing listing) {
        Access.require(caller, "keys:read");
        String name = listing.name();
        Map<String, String> labels = name == null ? Map.of() : Map.of(NAME, name);
        Listing labelled =
                new Listing(listing.limit(), listing.cursor(), listing.states(), labels, null);
        Query query = cursors.page(Query.of(caller.tenant()), labelled, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.KEY, query));
        return cursors.answer(rows, query, labelled, NOUN, Keys::form);
    }

    @Override
    public KeyJson rotate(Caller caller, String id, RotateRequest request) {
        Access.require(caller, "keys:write");
        Long asked = request.overlapMillis();
        long overlap = asked == null ? 0 : asked;
        if (overlap < 0 || overlap > MAX_OVERLAP.toMillis()) {
            throw CaissonException.invalid("overlapMillis", "An overlap is 0 to 30 days.")
                    .withDetail("allowed", "0 to " + MAX_OVERLAP.toMillis());
        }
        String secret = Credentials.newSecret();
        KeyJson rotated = ledger.write(tx -> rotate(tx, caller, id, secret, overlap));
        known.forget();
        return rotated;
    }

    private KeyJson rotate(Store.Tx tx, Caller caller, String id, String secret, long overlap) {
        Row row = Rows.require(tx, Kind.KEY, caller.tenant(), id);
        KeyDoc doc = Json.read(row.body(), KeyDoc.class);
        Instant now = ledger.now();
        Instant expires = doc.expiresAt();
        if (doc.revokedAt() != null || (expires != null && !now.isBefore(expires))) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The key " + id + " is revoked or has expired.")
                    .withRemedy("Make another key.");
        }
        // Who knows the new secret is this key.
        KeyRules.mayMake(caller, Role.of(doc.role()), doc.scopes(), doc.policyId());
        KeyRules.mayOutlive(tx, caller, id, expires, now);
        Instant until = overlap == 0 ? null : now.plusMillis(overlap);
        KeyDoc next =
                doc.withHash(
                        Credentials.hash(id, secret),
                        until,
                        Lineage.of(tx, id, doc.lineage(), caller, now));
        Row after = tx.update(Kind.KEY, named(Rows.withBody(row, next), next));
        event(tx, caller, EventType.KEY_ROTATED, row, Map.of("key", id, "overlapMillis", overlap));
        return next.form(after, Credentials.text(id, secret));
    }

    @Override
    public KeyJson revoke(Caller caller, String id) {
        Access.require(caller, "keys:write");
        KeyJson revoked = ledger.write(tx -> revoke(tx, caller, id));
        known.forget();
        return revoked;
    }

    private KeyJson revoke(Store.Tx tx, Caller caller, String id) {
        Row row = Rows.require(tx, Kind.KEY, caller.tenant(), id);
        KeyDoc doc = Json.read(row.body(), KeyDoc.class);
        if (doc.revokedAt() != null) {
            return doc.form(row, null);
        }
        KeyRules.mayHold(caller, Role.of(doc.role()));
        KeyRules.keepOneAdmin(tx, row, doc, ledger.now());
        KeyDoc next = doc.withRevokedAt(ledger.now());
        tx.update(Kind.KEY, Rows.with(row, REVOKED, null, next));
        event(tx, caller, EventType.KEY_REVOKED, row, Map.of("key", id));
        return next.form(row, null);
    }

    /** Keys were changed by another part of this server. */
    void forget() {
        known.forget();
    }
}
