package dev.caisson.api;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The one exception of Caisson. Its message says what failed and for which sandbox or path, its
 * remedy what to do about it; both are written for people and for models.
 */
public final class CaissonException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final ErrorCode code;
    private final String remedy;
    private final String requestId;
    private final boolean retryable;
    private final LinkedHashMap<String, String> details;

    private CaissonException(
            ErrorCode code,
            String message,
            String remedy,
            String requestId,
            boolean retryable,
            Map<String, String> details,
            @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
        this.remedy = remedy;
        this.requestId = requestId;
        this.retryable = retryable;
        this.details = new LinkedHashMap<>(details);
    }

    /** An exception with the remedy of its code, without details and cause. */
    public static CaissonException of(ErrorCode code, String message) {
        return new CaissonException(code, message, "", "", code.retryable(), Map.of(), null);
    }

    /** An exception with its cause. */
    public static CaissonException of(ErrorCode code, String message, Throwable cause) {
        return new CaissonException(code, message, "", "", code.retryable(), Map.of(), cause);
    }

    /** {@link ErrorCode#INVALID} for one field of a request. */
    public static CaissonException invalid(String field, String message) {
        return of(ErrorCode.INVALID, message).withDetail("field", field);
    }

    /** The same with what a person or model can do about it. */
    public CaissonException withRemedy(String newRemedy) {
        return copy(newRemedy, requestId, retryable, details);
    }

    /**
     * The same with one more detail; names are {@code field, limit, requested, allowed, current}
     * and the like.
     */
    public CaissonException withDetail(String name, String detail) {
        Map<String, String> more = new LinkedHashMap<>(details);
        more.put(name, detail);
        return copy(remedy, requestId, retryable, more);
    }

    /** The same for a request. */
    public CaissonException withRequestId(String newRequestId) {
        return copy(remedy, newRequestId, retryable, details);
    }

    /** The same, retryable or not whatever the code says. */
    public CaissonException withRetryable(boolean newRetryable) {
        return copy(remedy, requestId, newRetryable, details);
    }

    private CaissonException copy(String r, String id, boolean retry, Map<String, String> d) {
        CaissonException copy = new CaissonException(code, message(), r, id, retry, d, getCause());
        copy.setStackTrace(getStackTrace());
        return copy;
    }

    /** What kind of failure it is. */
    public ErrorCode code() {
        return code;
    }

    /** What failed, never null. */
    public String message() {
        String message = getMessage();
        return message == null ? code.value() : message;
    }

    /** What to do about it, never empty. */
    public String remedy() {
        return remedy.isEmpty() ? code.remedy() : remedy;
    }

    /** The request that failed, where requests have ids. */
    public Optional<String> requestId() {
        return requestId.isEmpty() ? Optional.empty() : Optional.of(requestId);
    }

    /** Whether the same request may succeed later without a change. */
    public boolean retryable() {
        return retryable;
    }

    /** Details by name, in a stable order. */
    public Map<String, String> details() {
        return Collections.unmodifiableMap(details);
    }
}
