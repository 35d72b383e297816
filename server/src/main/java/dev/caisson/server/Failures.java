package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ErrorJson;
import java.io.InterruptedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns whatever was thrown into the one error object. */
final class Failures {
    private static final Logger LOG = LoggerFactory.getLogger(Failures.class);
    private static final String RETRY_SECONDS = "1";

    private Failures() {}

    /** What the client is told; what it is not told is logged under the request's id. */
    static Refusal refusal(Throwable thrown, String requestId) {
        Refusal refusal = client(thrown);
        if (refusal == null) {
            refusal =
                    thrown instanceof CaissonException known
                            ? Refusal.of(known)
                            : unexpected(thrown, requestId);
        }
        if (refusal.error().code() == ErrorCode.INTERNAL && thrown instanceof CaissonException) {
            log(thrown, requestId);
        }
        return retryAfter(refusal);
    }

    /** What the client did, or this server's end, even where it was wrapped on its way up. */
    private static @Nullable Refusal client(Throwable thrown) {
        Throwable at = thrown;
        for (int depth = 0; at != null && depth < 8; depth++, at = at.getCause()) {
            switch (at) {
                case Refusal known -> {
                    return known;
                }
                case ClientGone _ -> {
                    return new Refusal(
                            400,
                            CaissonException.invalid(
                                    "body", "The body of the request ended early."));
                }
                case InterruptedException _, InterruptedIOException _ -> {
                    return Refusal.of(
                            CaissonException.of(
                                    ErrorCode.NO_CAPACITY,
                                    "The request was cut: the server is being stopped."));
                }
                default -> {
                    // Its cause may tell.
                }
            }
        }
        return null;
    }

    private static Refusal unexpected(Throwable thrown, String requestId) {
        log(thrown, requestId);
        return Refusal.of(
                CaissonException.of(ErrorCode.INTERNAL, "Something failed inside the server.")
                        .withRemedy("Tell the operator the id of this request."));
    }

    /** The places only: messages of strange exceptions may quote what a client sent. */
    private static void log(Throwable thrown, String requestId) {
        LOG.atError()
                .addKeyValue("id", requestId)
                .addKeyValue("thrown", trace(thrown))
                .log("A request failed inside");
    }

    private static String trace(@Nullable Throwable thrown) {
        StringBuilder text = new StringBuilder();
        Throwable at = thrown;
        for (int depth = 0; at != null && depth < 5; depth++, at = at.getCause()) {
            text.append(depth == 0 ? "" : " caused by ").append(at.getClass().getName());
            StackTraceElement[] places = at.getStackTrace();
            for (int i = 0; i < Math.min(places.length, 8); i++) {
                text.append(" at ").append(places[i]);
            }
        }
        return text.toString();
    }

    private static Refusal retryAfter(Refusal refusal) {
        boolean conflict = refusal.error().code() == ErrorCode.CONFLICT;
        if (refusal.status() == 429 || refusal.status() == 503 || conflict) {
            refusal.with("Retry-After", seconds(refusal.error().details().get("retryAfterMillis")));
        }
        return refusal;
    }

    /** Whole seconds, at least one, that a client is to wait. */
    private static String seconds(@Nullable String millis) {
        if (millis == null || !millis.matches("[0-9]{1,12}")) {
            return RETRY_SECONDS;
        }
        return Long.toString(Math.max(1, Math.ceilDiv(Long.parseLong(millis), 1000)));
    }

    /** The error object of a request. */
    static ErrorJson json(CaissonException error, String requestId) {
        Map<String, Object> details = new LinkedHashMap<>(error.details());
        return new ErrorJson(
                error.code().value(),
                error.message(),
                error.remedy(),
                requestId,
                error.retryable(),
                details);
    }
}
