package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a secret is put in, and how much of that there may be. A request must match exactly one
 * binding of all secrets that its sandbox may use, or nothing is put in.
 *
 * @param bindings at least one
 * @param env variable that holds the placeholder inside; absent: none
 * @param requestsPerMinute empty: no limit
 * @param requests in the secret's life
 * @param bytes of requests and answers in the secret's life
 */
public record SecretSpec(
        List<SecretBinding> bindings,
        @Nullable String env,
        @Nullable Integer requestsPerMinute,
        @Nullable Long requests,
        @Nullable Long bytes) {
    /** Copies the collections; absent ones are empty. */
    public SecretSpec {
        bindings = List.copyOf(Absent.list(bindings));
    }
}
