package dev.caisson.control;

import dev.caisson.v1.KeyJson;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The body of a key's row. Secrets are there as hashes only.
 *
 * @param name for people
 * @param role word of its {@link Role}
 * @param scopes narrower than the role; empty: all of it
 * @param policy name of the policy that narrows the tenant's
 * @param policyId its id
 * @param expiresAt until; null: for ever
 * @param revokedAt when; null: not
 * @param lastUsedAt about
 * @param hash of the secret
 * @param previousHash of the secret before it was rotated
 * @param previousUntil how long that one still works
 * @param lineage {@link Lineage}: ids of keys and of people; absent in rows of before
 */
record KeyDoc(
        @Nullable String name,
        String role,
        List<String> scopes,
        @Nullable String policy,
        @Nullable String policyId,
        @Nullable Instant expiresAt,
        @Nullable Instant revokedAt,
        @Nullable Instant lastUsedAt,
        String hash,
        @Nullable String previousHash,
        @Nullable Instant previousUntil,
        List<String> lineage) {

    private static final int MARK_DIGITS = 20;

    KeyDoc {
        scopes = List.copyOf(scopes);
        lineage = sure(lineage);
    }

    private static List<String> sure(@Nullable List<String> given) {
        return given == null ? List.of() : List.copyOf(given);
    }

    KeyDoc withRevokedAt(Instant now) {
        return new KeyDoc(
                name,
                role,
                scopes,
                policy,
                policyId,
                expiresAt,
                now,
                lastUsedAt,
                hash,
                null,
                null,
                lineage);
    }

    KeyDoc withLastUsedAt(Instant now) {
        return new KeyDoc(
                name,
                role,
                scopes,
                policy,
                policyId,
                expiresAt,
                revokedAt,
                now,
                hash,
                previousHash,
                previousUntil,
                lineage);
    }

    /** Another secret, which those know; the one until now works until then. */
    KeyDoc withHash(String newHash, @Nullable Instant oldUntil, List<String> newLineage) {
        return new KeyDoc(
                name,
                role,
                scopes,
                policy,
                policyId,
                expiresAt,
                revokedAt,
                lastUsedAt,
                newHash,
                oldUntil == null ? null : hash,
                oldUntil,
                newLineage);
    }

    /** Whether a secret of that hash is right now; looks at all, whatever is right. */
    boolean accepts(String presented, Instant now) {
        boolean present = Credentials.same(hash, presented);
        boolean before = previousHash != null && Credentials.same(previousHash, presented);
        return (present || (before && overlaps(now))) && valid(now);
    }

    /** Whether the secret of that mark is right now. */
    boolean honours(String mark, Instant now) {
        boolean present = Credentials.same(mark(hash), mark);
        boolean before = previousHash != null && Credentials.same(mark(previousHash), mark);
        return (present || (before && overlaps(now))) && valid(now);
    }

    /** When the secret of that mark ends, if it is right; null: never. */
    @Nullable Instant end(String mark) {
        return end(Credentials.same(mark(hash), mark));
    }

    private @Nullable Instant end(boolean present) {
        boolean first =
                !present
                        && previousUntil != null
                        && (expiresAt == null || previousUntil.isBefore(expiresAt));
        return first ? previousUntil : expiresAt;
    }

    /** Whether the secret of that mark was followed by another one. */
    boolean isFormer(String mark) {
        return !Credentials.same(mark(hash), mark);
    }

    private boolean overlaps(Instant now) {
        return previousUntil != null && now.isBefore(previousUntil);
    }

    /** What the holder of the secret of that hash has presented. */
    Proof proof(String presented) {
        return new Proof(mark(presented), end(Credentials.same(hash, presented)));
    }

    /** Says which secret it was, and not what. */
    private static String mark(String hash) {
        return Credentials.sha256("mark\n" + hash).substring(0, MARK_DIGITS);
    }

    /** Neither revoked nor expired. */
    boolean valid(Instant now) {
        return revokedAt == null && (expiresAt == null || now.isBefore(expiresAt));
    }

    /** As it is answered; the key only when it was just made. */
    KeyJson form(Row row, @Nullable String key) {
        return new KeyJson(
                row.id(),
                row.tenant(),
                name,
                role,
                scopes,
                policy,
                row.created(),
                expiresAt,
                revokedAt,
                lastUsedAt,
                key);
    }
}
