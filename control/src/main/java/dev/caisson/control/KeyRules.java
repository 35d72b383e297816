package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Who may make which key: none that can do more than its maker. */
final class KeyRules {
    private static final Duration MAX_LIFE = Duration.ofDays(3650);
    private static final int MAX_NAME = 128;
    private static final int MAX_SCOPES = 64;

    private KeyRules() {}

    /** Checks a request; the role that it asks for. */
    static Role check(Caller maker, KeyRequest request) {
        Role role = request.role() == null ? Role.AGENT : Role.of(request.role());
        Long life = request.expiresInMillis();
        if (life != null && (life < 1 || life > MAX_LIFE.toMillis())) {
            throw CaissonException.invalid("expiresInMillis", "A key lives 1 ms to ten years.");
        }
        String name = request.name();
        if (name != null && (name.isBlank() || name.length() > MAX_NAME)) {
            throw CaissonException.invalid("name", "A name has 1 to 128 characters.");
        }
        if (request.scopes().size() > MAX_SCOPES) {
            throw CaissonException.invalid("scopes", "A key has at most 64 scopes.");
        }
        request.scopes().forEach(KeyRules::checkScope);
        mayHold(maker, role);
        mayGive(maker, request.scopes());
        return role;
    }

    private static void checkScope(String scope) {
        int colon = scope.indexOf(':');
        boolean known =
                colon > 0
                        && Access.NOUNS.contains(scope.substring(0, colon))
                        && (scope.endsWith(":read") || scope.endsWith(":write"))
                        && scope.indexOf(':', colon + 1) < 0;
        if (!known) {
            throw CaissonException.invalid("scopes", "There is no scope '" + scope + "'.")
                    .withRemedy("Write noun:read or noun:write, for instance sandboxes:write.");
        }
    }

    /** Refuses a key that can do more than its maker. */
    static void mayMake(Caller maker, Role role, List<String> scopes, @Nullable String policyId) {
        mayHold(maker, role);
        mayGive(maker, scopes);
        String own = maker.policy();
        if (own != null && !own.equals(policyId)) {
            throw tooMuch("policy", String.valueOf(policyId));
        }
    }

    /** An admin makes all, an operator all but admins. */
    static void mayHold(Caller maker, Role role) {
        boolean allowed =
                switch (maker.role()) {
                    case ADMIN -> true;
                    case OPERATOR -> role != Role.ADMIN;
                    case AGENT, AUDITOR -> false;
                };
        if (!allowed) {
            throw tooMuch("role", role.value());
        }
    }

    private static void mayGive(Caller maker, List<String> scopes) {
        if (maker.scopes().isEmpty()) {
            return;
        }
        if (scopes.isEmpty()) {
            throw tooMuch("scopes", "all of the role");
        }
        for (String scope : scopes) {
            if (!Access.allows(maker, scope)) {
                throw tooMuch("scopes", scope);
            }
        }
    }

    /** The policy of a new key: what is asked, and nothing but the maker's own if it has one. */
    static @Nullable Row policy(Store.Tx tx, Caller maker, @Nullable String asked) {
        String own = maker.policy();
        if (asked == null && own == null) {
            return null;
        }
        Row row =
                Rows.require(
                        tx,
                        Kind.POLICY,
                        maker.tenant(),
                        asked == null ? String.valueOf(own) : asked);
        if (own != null && !own.equals(row.id())) {
            throw tooMuch("policy", String.valueOf(asked));
        }
        return row;
    }

    /**
     * When a new key ends: as asked, and never after the key that makes it. People with tokens make
     * keys that last.
     */
    static @Nullable Instant end(
            Store.Tx tx, Caller maker, @Nullable Long askedMillis, Instant now) {
        Instant own = ownEnd(tx, maker, now);
        if (own == null) {
            return askedMillis == null ? null : now.plusMillis(askedMillis);
        }
        if (askedMillis != null && now.plusMillis(askedMillis).isAfter(own)) {
            throw tooMuch("expiresInMillis", askedMillis.toString())
                    .withDetail("allowed", Long.toString(Duration.between(now, own).toMillis()));
        }
        return askedMillis == null ? own : now.plusMillis(askedMillis);
    }

    /**
     * Refuses another secret of a key that lasts longer than the secret that asks. A key may give
     * itself another one, but not with a secret that ends because there is a newer one already.
     */
    static void mayOutlive(
            Store.Tx tx, Caller caller, String id, @Nullable Instant end, Instant now) {
        Instant own = ownEnd(tx, caller, now);
        boolean itself =
                id.equals(caller.keyId())
                        && own(tx, caller).filter(doc -> doc.isFormer(mark(caller))).isEmpty();
        if (own != null && !itself && (end == null || end.isAfter(own))) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The key " + id + " lasts longer than the key that asks.")
                    .withRemedy("Rotate it with a key that lasts as long, or with itself.")
                    .withDetail("field", "expiresAt")
                    .withDetail("requested", end == null ? "never" : end.toString())
                    .withDetail("allowed", own.toString());
        }
    }

    /** As its row says now: a secret that was revoked elsewhere a moment ago gives nothing. */
    private static @Nullable Instant ownEnd(Store.Tx tx, Caller caller, Instant now) {
        KeyDoc own = own(tx, caller).orElse(null);
        if (own == null) {
            return null; // a person with a token
        }
        if (!own.honours(mark(caller), now)) {
            throw Credentials.refused();
        }
        return own.end(mark(caller));
    }

    private static String mark(Caller caller) {
        return caller.proof().mark();
    }

    private static Optional<KeyDoc> own(Store.Tx tx, Caller caller) {
        return tx.find(Kind.KEY, caller.keyId()).map(row -> Json.read(row.body(), KeyDoc.class));
    }

    /** The service must stay in somebody's hands. */
    static void keepOneAdmin(Store.Tx tx, Row going, KeyDoc doc, Instant now) {
        boolean home = tx.meta(Directory.HOME).filter(going.tenant()::equals).isPresent();
        if (!home || !doc.role().equals(Role.ADMIN.value())) {
            return;
        }
        boolean another =
                tx.list(Kind.KEY, Query.of(going.tenant()).withStates(Keys.ACTIVE)).stream()
                        .filter(row -> !row.id().equals(going.id()))
                        .map(row -> Json.read(row.body(), KeyDoc.class))
                        .anyMatch(key -> runsService(key, now));
        if (!another) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The key " + going.id() + " is the last admin's.")
                    .withRemedy("Make another admin key first.");
        }
    }

    private static boolean runsService(KeyDoc key, Instant now) {
        Instant expires = key.expiresAt();
        return key.role().equals(Role.ADMIN.value())
                && key.scopes().isEmpty()
                && (expires == null || now.isBefore(expires));
    }

    private static CaissonException tooMuch(String field, String requested) {
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED,
                        "This key may not give more than it has: " + field + " " + requested + ".")
                .withRemedy("Ask for less, or ask an admin.")
                .withDetail("field", field)
                .withDetail("requested", requested);
    }
}
