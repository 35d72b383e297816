package dev.caisson.control;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;

/**
 * Wrong secrets per key id. A key whose id is guessed at too often takes no secret for the rest of
 * the minute but one that was right before, so that guessing does not lock its holder out. Bounded;
 * thread-safe.
 */
final class Attempts {
    static final int MAX_FAILURES = 20;

    private static final Duration WINDOW = Duration.ofMinutes(1);
    private static final int MAX_IDS = 10_000;

    /** Guarded by this. */
    private final Map<String, Seen> seen = new HashMap<>();

    private record Seen(int failures, Instant since, String rightHash) {}

    /** Whether a secret of that hash may be looked at. */
    synchronized boolean allows(String id, String hash, Instant now) {
        Seen known = seen.get(id);
        return known == null
                || known.failures() < MAX_FAILURES
                || !now.isBefore(known.since().plus(WINDOW))
                || Credentials.same(known.rightHash(), hash);
    }

    synchronized void failed(String id, Instant now) {
        Seen known = seen.get(id);
        String right = known == null ? "" : known.rightHash();
        boolean within = known != null && now.isBefore(known.since().plus(WINDOW));
        put(
                id,
                within && known != null
                        ? new Seen(known.failures() + 1, known.since(), right)
                        : new Seen(1, now, right));
    }

    synchronized void succeeded(String id, String hash, Instant now) {
        Seen known = seen.get(id);
        if (known == null || !Credentials.same(known.rightHash(), hash)) {
            put(id, new Seen(known == null ? 0 : known.failures(), now, hash));
        }
    }

    private void put(String id, Seen now) {
        if (seen.size() >= MAX_IDS && !seen.containsKey(id)) {
            seen.clear();
        }
        seen.put(id, now);
    }
}
