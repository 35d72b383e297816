package dev.caisson.api;

/**
 * Every kind of failure, with the HTTP status and the Connect code that stand for it. Closed: a new
 * kind is a new constant here.
 */
public enum ErrorCode {
    /** The request is malformed or out of bounds. */
    INVALID(
            "invalid",
            400,
            "invalid_argument",
            false,
            "Correct the request; /v1/openapi.json describes every field."),
    /** The command does not exist inside. */
    COMMAND_NOT_FOUND(
            "command_not_found",
            400,
            "not_found",
            false,
            "Name a program that is there, or install it first."),
    /** The command exists inside and cannot be executed. */
    NOT_EXECUTABLE(
            "not_executable",
            400,
            "failed_precondition",
            false,
            "Make the file executable, or name its interpreter."),
    /** The interpreter of that language is not there. */
    INTERPRETER_MISSING(
            "interpreter_missing",
            400,
            "failed_precondition",
            false,
            "Use another language, or a template that has it."),
    /** No valid credential. */
    UNAUTHENTICATED("unauthenticated", 401, "unauthenticated", false, "Send a valid key or token."),
    /** The policy of the tenant says no. */
    POLICY_DENIED(
            "policy_denied",
            403,
            "permission_denied",
            false,
            "Ask for less, or ask an admin for another policy or key."),
    /** The operating system inside says no. */
    PERMISSION_DENIED(
            "permission_denied",
            403,
            "permission_denied",
            false,
            "Change the permissions inside, or act as another user."),
    /** There is no such object, file or folder. */
    NOT_FOUND(
            "not_found", 404, "not_found", false, "List what is there; it may have been deleted."),
    /** The object is in a state that does not allow it. */
    INVALID_STATE(
            "invalid_state",
            409,
            "failed_precondition",
            false,
            "Look at its state, and try again when that has changed."),
    /** Something of that name is there already. */
    ALREADY_EXISTS(
            "already_exists",
            409,
            "already_exists",
            false,
            "Use another name, or the one that is there."),
    /** The sandbox has ended. */
    SANDBOX_ENDED("sandbox_ended", 409, "failed_precondition", false, "Create another sandbox."),
    /** The caller gave up. */
    CANCELLED("cancelled", 409, "canceled", false, "Ask again if it is still wanted."),
    /** A limit of the sandbox (memory, processes, disk, inodes) stops it. */
    LIMIT_REACHED(
            "limit_reached",
            409,
            "resource_exhausted",
            false,
            "Free what is used inside, or ask for a higher limit."),
    /** The same request, by its idempotency key, is still being answered. */
    CONFLICT("conflict", 409, "aborted", true, "Send the same request again in a moment."),
    /** The object is not the version that the request was made for. */
    PRECONDITION_FAILED(
            "precondition_failed",
            409,
            "failed_precondition",
            false,
            "Read it again, and repeat the change on its present version."),
    /** The path names a link, folder, device or pipe where a regular file is needed. */
    NOT_REGULAR("not_regular", 409, "failed_precondition", false, "Name a regular file."),
    /** Larger than allowed. */
    TOO_LARGE("too_large", 413, "out_of_range", false, "Send or ask for less at once."),
    /** Another server has the object; its address is in the details. */
    WRONG_SERVER(
            "wrong_server",
            421,
            "failed_precondition",
            false,
            "Ask the server that the details name."),
    /** The same idempotency key with another body. */
    IDEMPOTENCY_MISMATCH(
            "idempotency_mismatch",
            422,
            "invalid_argument",
            false,
            "Use a new key for a new request."),
    /** A quota of the tenant is used up. */
    QUOTA_EXCEEDED(
            "quota_exceeded",
            429,
            "resource_exhausted",
            true,
            "End what is not needed, or wait; an operator can raise the quota."),
    /** A failure inside Caisson; a defect. */
    INTERNAL("internal", 500, "internal", false, "Tell the operator the id of this request."),
    /** This host has no engine for the tier. */
    TIER_UNAVAILABLE(
            "tier_unavailable",
            501,
            "unimplemented",
            false,
            "Use another tier; /v1/info says which are there and what the others miss."),
    /** This host or tier cannot enforce or do what was asked. */
    UNSUPPORTED("unsupported", 501, "unimplemented", false, "Do without it, or use another tier."),
    /** Not in this version. */
    NOT_AVAILABLE(
            "not_available",
            501,
            "unimplemented",
            false,
            "Do without it: this version does not have it."),
    /** Launcher, agent or an engine failed or broke the protocol. */
    ENGINE_FAILED(
            "engine_failed",
            502,
            "unavailable",
            true,
            "Try again; the log of the server says what failed."),
    /** Neither root nor an installed launcher: no sandbox can be made here. */
    LAUNCHER_UNAVAILABLE(
            "launcher_unavailable",
            503,
            "unavailable",
            false,
            "Start the launcher; caisson doctor says what is missing."),
    /** The host has no room for another sandbox now. */
    NO_CAPACITY("no_capacity", 503, "unavailable", true, "Try again in a moment."),
    /** It took longer than allowed. */
    TIMEOUT("timeout", 504, "deadline_exceeded", true, "Try again, or allow more time."),
    /** The host's disk is too full. */
    HOST_DISK_FULL(
            "host_disk_full",
            507,
            "resource_exhausted",
            true,
            "Free space on the disk of the host."),
    /** A code of a newer version. Only in answers. */
    UNKNOWN("unknown", 500, "unknown", false, "Use a client as new as the server.");

    private final String value;
    private final int httpStatus;
    private final String connectCode;
    private final boolean retryable;
    private final String remedy;

    ErrorCode(String value, int httpStatus, String connectCode, boolean retryable, String remedy) {
        this.value = value;
        this.httpStatus = httpStatus;
        this.connectCode = connectCode;
        this.retryable = retryable;
        this.remedy = remedy;
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

    /** What to do about it where nothing better is known. */
    public String remedy() {
        return remedy;
    }

    /** The code of that wire name, {@link #UNKNOWN} for any other text. */
    public static ErrorCode of(String value) {
        return Closed.find(values(), ErrorCode::value, value, UNKNOWN);
    }
}
