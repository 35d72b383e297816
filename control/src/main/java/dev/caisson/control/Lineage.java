package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Who may know a key's secret: those who made or rotated it, and those who did that with theirs.
 * Only what can never ask again is ever taken out, and only where there would be too many.
 */
final class Lineage {
    /** Of one key. */
    static final int MAX = 128;

    private Lineage() {}

    /** What a key's lineage is when that caller makes it or gives it another secret. */
    static List<String> of(Store.Tx tx, String id, List<String> before, Caller maker, Instant now) {
        Set<String> all = new LinkedHashSet<>(before);
        all.add(maker.keyId());
        all.addAll(of(tx, maker.keyId()));
        all.remove(id); // itself never decides what it asked
        if (all.size() > MAX) {
            all.removeIf(one -> !mayAsk(tx, one, now));
        }
        if (all.size() > MAX) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "This key descends from " + all.size() + " keys that are still good.")
                    .withRemedy("Revoke those that are not needed, or use an older key.")
                    .withDetail("limit", "lineage")
                    .withDetail("allowed", Integer.toString(MAX));
        }
        return List.copyOf(all);
    }

    /** The lineage of a key; of a person who came with a token it is empty. */
    static List<String> of(Store.Tx tx, String id) {
        return key(tx, id).map(KeyDoc::lineage).orElse(List.of());
    }

    /** A key that is over never comes back; of a person nobody here knows whether they do. */
    private static boolean mayAsk(Store.Tx tx, String id, Instant now) {
        return id.startsWith(Tokens.PREFIX)
                || key(tx, id).filter(doc -> doc.valid(now)).isPresent();
    }

    private static Optional<KeyDoc> key(Store.Tx tx, String id) {
        return tx.find(Kind.KEY, id).map(row -> Json.read(row.body(), KeyDoc.class));
    }
}
