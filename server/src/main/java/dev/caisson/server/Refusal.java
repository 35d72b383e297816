package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An answer that is an error: for what HTTP itself refuses the status says more than the closed
 * codes do.
 */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final CaissonException error;
    private final LinkedHashMap<String, String> headers = new LinkedHashMap<>();

    Refusal(int status, CaissonException error) {
        super(error.message(), error);
        this.status = status;
        this.error = error;
    }

    Refusal(int status, ErrorCode code, String message) {
        this(status, CaissonException.of(code, message));
    }

    static Refusal of(CaissonException error) {
        int status = error.code().value().equals("precondition_failed") ? 412 : -1;
        return new Refusal(status > 0 ? status : error.code().httpStatus(), error);
    }

    static Refusal unauthenticated() {
        return of(CaissonException.of(ErrorCode.UNAUTHENTICATED, "This request needs a valid key.")
                        .withRemedy("Send it as 'Authorization: Bearer caisson_…'."))
                .with("WWW-Authenticate", "Bearer realm=\"caisson\"");
    }

    static CaissonException notFound(String what) {
        return CaissonException.of(ErrorCode.NOT_FOUND, what);
    }

    /** The same with a header; for use before it is thrown. */
    Refusal with(String name, String value) {
        headers.put(name, value);
        return this;
    }

    int status() {
        return status;
    }

    CaissonException error() {
        return error;
    }

    Map<String, String> headers() {
        return headers;
    }
}
