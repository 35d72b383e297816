package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The one error object.
 *
 * @param code see ErrorCode
 * @param message what failed
 * @param remedy what to do
 * @param requestId for the log
 * @param retryable the same may succeed later
 * @param details field, limit, requested, allowed, current
 */
public record ErrorJson(
        String code,
        String message,
        @Nullable String remedy,
        @Nullable String requestId,
        boolean retryable,
        Map<String, Object> details) {
    /** Copies the collections; absent ones are empty. */
    public ErrorJson {
        details = Map.copyOf(Absent.map(details));
    }
}
