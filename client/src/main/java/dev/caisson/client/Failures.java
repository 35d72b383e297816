package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/** Turns what a server says, or the lack of it, into the one exception. */
final class Failures {
    /** Most bytes of an error that are read. */
    static final int LIMIT = 64 << 10;

    private static final int MAX_TEXT = 8 << 10;

    /** The body of an answer that says no. */
    private record Body(@Nullable ErrorJson error) {}

    private Failures() {}

    /** The failure that an answer tells. */
    static CaissonException of(int status, byte[] body, URI server) {
        try {
            Body read = Json.LENIENT.readValue(body, Body.class);
            ErrorJson error = read == null ? null : read.error();
            if (error != null && error.code() != null) {
                return of(error);
            }
        } catch (JacksonException e) {
            // Not a server of ours, or one in front of it: the status has to do.
        }
        return CaissonException.of(
                        code(status),
                        "The server " + server + " answers with HTTP status " + status + ".")
                .withRemedy(
                        status >= 300 && status < 400
                                ? "Redirects are not followed with a key: give the URL it leads to."
                                : "Check that the URL leads to a Caisson server.")
                .withDetail("status", Integer.toString(status))
                .withRetryable(status == 429 || status == 502 || status == 503 || status == 504);
    }

    /** The failure that an error object tells. */
    static CaissonException of(ErrorJson error) {
        ErrorCode code = ErrorCode.of(String.valueOf(error.code()));
        CaissonException failure =
                CaissonException.of(code, cut(error.message()))
                        .withRemedy(cut(error.remedy()))
                        .withRequestId(cut(error.requestId()))
                        .withRetryable(error.retryable());
        for (Map.Entry<String, Object> detail : new TreeMap<>(error.details()).entrySet()) {
            failure = failure.withDetail(detail.getKey(), cut(detail.getValue()));
        }
        return code == ErrorCode.UNKNOWN ? failure.withDetail("code", error.code()) : failure;
    }

    private static String cut(@Nullable Object text) {
        String whole = text == null ? "" : text.toString();
        return whole.length() > MAX_TEXT ? whole.substring(0, MAX_TEXT) + "…" : whole;
    }

    private static ErrorCode code(int status) {
        return switch (status) {
            case 400 -> ErrorCode.INVALID;
            case 401 -> ErrorCode.UNAUTHENTICATED;
            case 403 -> ErrorCode.POLICY_DENIED;
            case 404 -> ErrorCode.NOT_FOUND;
            case 409 -> ErrorCode.INVALID_STATE;
            case 413 -> ErrorCode.TOO_LARGE;
            case 422 -> ErrorCode.IDEMPOTENCY_MISMATCH;
            case 429 -> ErrorCode.QUOTA_EXCEEDED;
            case 501 -> ErrorCode.NOT_AVAILABLE;
            case 503 -> ErrorCode.NO_CAPACITY;
            case 504 -> ErrorCode.TIMEOUT;
            case 507 -> ErrorCode.HOST_DISK_FULL;
            default -> ErrorCode.ENGINE_FAILED;
        };
    }

    /** No answer, or half of one. */
    static CaissonException broken(URI server, IOException cause) {
        if (cause instanceof HttpTimeoutException || cause instanceof SocketTimeoutException) {
            return CaissonException.of(
                            ErrorCode.TIMEOUT,
                            "The server " + server + " did not answer in time.",
                            cause)
                    .withRemedy("Check that it runs and that the network lets it be reached.");
        }
        if (cause instanceof InterruptedIOException) {
            return cancelled();
        }
        return CaissonException.of(
                        ErrorCode.ENGINE_FAILED,
                        "The connection to the server " + server + " failed: " + cause(cause) + ".",
                        cause)
                .withRemedy("Check that it runs and that the network lets it be reached.");
    }

    private static String cause(Throwable failure) {
        Throwable root = failure;
        for (int i = 0; i < 8 && root.getCause() != null; i++) {
            root = root.getCause();
        }
        String message = root.getMessage();
        return message == null || message.isBlank() ? root.getClass().getSimpleName() : message;
    }

    /** What came is not what the contract says. */
    static CaissonException malformed(String what, @Nullable Throwable cause) {
        String message = "The server's answer is not what it should be: " + what + ".";
        CaissonException failure =
                cause == null
                        ? CaissonException.of(ErrorCode.ENGINE_FAILED, message)
                        : CaissonException.of(ErrorCode.ENGINE_FAILED, message, cause);
        return failure.withRetryable(false)
                .withRemedy("Check that the URL leads to a Caisson server of this version.");
    }

    static CaissonException cancelled() {
        return CaissonException.of(ErrorCode.CANCELLED, "The call was interrupted.");
    }
}
