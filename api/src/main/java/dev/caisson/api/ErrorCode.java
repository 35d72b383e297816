package dev.caisson.api;

/**
 * Every kind of failure, with the HTTP status and the Connect code that stand for it. Closed: a new
 * kind is a new constant here.
 */
public enum ErrorCode {
    /** The request is malformed or out of bounds. */
    INVALID("invalid", 400, "invalid_argument", false),
    /** The command does not exist inside. */
    COMMAND_NOT_FOUND("command_not_found", 400, "not_found", false),
    /** The command exists inside and cannot be executed. */
    NOT_EXECUTABLE("not_executable", 400, "failed_precondition", false),
    /** The interpreter of that language is not there. */
    INTERPRETER_MISSING("interpreter_missing", 400, "failed_precondition", false),
    /** No valid credential. */
    UNAUTHENTICATED("unauthenticated", 401, "unauthenticated", false),
    /** The policy of the tenant says no. */
    POLICY_DENIED("policy_denied", 403, "permission_denied", false),
    /** The operating system inside says no. */
    PERMISSION_DENIED("permission_denied", 403, "permission_denied", false),
    /** There is no such object, file or folder. */
    NOT_FOUND("not_found", 404, "not_found", false),
    /** The object is in a state that does not allow it. */
    INVALID_STATE("invalid_state", 409, "failed_precondition", false),
    /** Something of that name is there already. */
    ALREADY_EXISTS("already_exists", 409, "already_exists", false),
    /** The sandbox has ended. */
    SANDBOX_ENDED("sandbox_ended", 409, "failed_precondition", false),
    /** The caller gave up. */
    CANCELLED("cancelled", 409, "canceled", false),
    /** A limit of the sandbox (memory, processes, disk, inodes) stops it. */
    LIMIT_REACHED("limit_reached", 409, "resource_exhausted", false),
    /** The same request, by its idempotency key, is still being answered. */
    CONFLICT("conflict", 409, "aborted", true),
    /** The object is not the version that the request was made for. */
    PRECONDITION_FAILED("precondition_failed", 409, "failed_precondition", false),
    /** The path names a link, folder, device or pipe where a regular file is needed. */
    NOT_REGULAR("not_regular", 409, "failed_precondition", false),
    /** Larger than allowed. */
    TOO_LARGE("too_large", 413, "out_of_range", false),
    /** Another server has the object; its address is in the details. */
    WRONG_SERVER("wrong_server", 421, "failed_precondition", false),
    /** The same idempotency key with another body. */
    IDEMPOTENCY_MISMATCH("idempotency_mismatch", 422, "invalid_argument", false),
    /** A quota of the tenant is used up. */
    QUOTA_EXCEEDED("quota_exceeded", 429, "resource_exhausted", true),
    /** A failure inside Caisson; a defect. */
    INTERNAL("internal", 500, "internal", false),
    /** This host has no engine for the tier. */
    TIER_UNAVAILABLE("tier_unavailable", 501, "unimplemented", false),
    /** This host or tier cannot enforce or do what was asked. */
    UNSUPPORTED("unsupported", 501, "unimplemented", false),
    /** Not in this version. */
    NOT_AVAILABLE("not_available", 501, "unimplemented", false),
    /** Launcher, agent or an engine failed or broke the protocol. */
    ENGINE_FAILED("engine_failed", 502, "unavailable", true),
    /** Neither root nor an installed launcher: no sandbox can be made here. */
    LAUNCHER_UNAVAILABLE("launcher_unavailable", 503, "unavailable", false),
    /** The host has no room for another sandbox now. */
    NO_CAPACITY("no_capacity", 503, "unavailable", true),
    /** It took longer than allowed. */
    TIMEOUT("timeout", 504, "deadline_exceeded", true),
    /** The host's disk is too full. */
    HOST_DISK_FULL("host_disk_full", 507, "resource_exhausted", true),
    /** A code of a newer version. Only in answers. */
    UNKNOWN("unknown", 500, "unknown", false);

    private final String value;
    private final int httpStatus;
    private final String connectCode;
    private final boolean retryable;

    ErrorCode(String value, int httpStatus, String connectCode, boolean retryable) {
        this.value = value;
        this.httpStatus = httpStatus;
        this.connectCode = connectCode;
        this.retryable = retryable;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The HTTP status that carries it. */
    public int httpStatus() {
        return httpStatus;
    }

    /** The code of the Connect and gRPC protocols, as Connect spells it. */
    public String connectCode() {
        return connectCode;
    }

    /** Whether the same request may succeed later without a change. */
    public boolean retryable() {
        return retryable;
    }

    /** The code of that wire name, {@link #UNKNOWN} for any other text. */
    public static ErrorCode of(String value) {
        return Closed.find(values(), ErrorCode::value, value, UNKNOWN);
    }
}
