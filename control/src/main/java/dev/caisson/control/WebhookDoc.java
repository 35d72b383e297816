package dev.caisson.control;

import dev.caisson.v1.WebhookJson;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The body of a webhook's row.
 *
 * @param url where
 * @param types of events; empty: all
 * @param sealed secret for signatures, encrypted
 * @param cursor last seq that was delivered or given up
 * @param attempts of the event behind the cursor
 * @param failingSince first failure since the last success
 * @param lastError of the last failure
 * @param dead seqs that were given up, oldest first
 */
record WebhookDoc(
        String url,
        List<String> types,
        String sealed,
        long cursor,
        int attempts,
        @Nullable Instant failingSince,
        @Nullable String lastError,
        List<Long> dead) {

    private static final int MAX_DEAD = 1000;

    WebhookDoc {
        types = List.copyOf(types);
        dead = List.copyOf(dead);
    }

    WebhookDoc delivered(long seq) {
        return new WebhookDoc(url, types, sealed, seq, 0, null, null, dead);
    }

    /** Passed over: it is not one of the types. */
    WebhookDoc passed(long seq) {
        return new WebhookDoc(url, types, sealed, seq, attempts, failingSince, lastError, dead);
    }

    WebhookDoc failed(String error, Instant now) {
        Instant since = failingSince == null ? now : failingSince;
        return new WebhookDoc(url, types, sealed, cursor, attempts + 1, since, error, dead);
    }

    WebhookDoc gaveUp(long seq) {
        List<Long> more = new ArrayList<>(dead);
        more.add(seq);
        List<Long> newest = more.subList(Math.max(0, more.size() - MAX_DEAD), more.size());
        return new WebhookDoc(url, types, sealed, seq, 0, failingSince, lastError, newest);
    }

    /** From behind that seq again; what lies there is no longer given up. */
    WebhookDoc from(long seq) {
        List<Long> before = dead.stream().filter(given -> given <= seq).toList();
        return new WebhookDoc(url, types, sealed, seq, 0, null, null, before);
    }

    boolean wants(String type) {
        return types.isEmpty()
                || types.stream().anyMatch(t -> type.equals(t) || type.startsWith(t + "."));
    }

    WebhookJson form(Row row, @Nullable String secret) {
        return new WebhookJson(
                row.id(),
                row.tenant(),
                url,
                types,
                row.state(),
                cursor,
                dead.size(),
                lastError,
                row.created(),
                secret);
    }
}
