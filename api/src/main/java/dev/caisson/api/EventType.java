package dev.caisson.api;

/** Everything that is told to an {@link EventSink}: {@code noun.pastVerb}. */
public enum EventType {
    /** A sandbox is being made; {@code data} has tier, engine, template and limits. */
    SANDBOX_CREATED("sandbox.created"),
    /** It takes commands; {@code data} has the set-up time. */
    SANDBOX_STARTED("sandbox.started"),
    /** It is gone; {@code reason} is an {@link EndReason}, {@code data} has the usage. */
    SANDBOX_ENDED("sandbox.ended"),
    /** A command was handed to the sandbox. */
    EXEC_STARTED("exec.started"),
    /** It ended; {@code reason} is an {@link ExecReason}, {@code data} has exit code and usage. */
    EXEC_ENDED("exec.ended"),
    /** It could not be started; {@code reason} is an {@link ErrorCode}. */
    EXEC_FAILED("exec.failed"),
    /** A client sent it a signal. */
    EXEC_SIGNALLED("exec.signalled"),
    /** A limit was met; {@code reason} is a {@link Limit}. */
    LIMIT_HIT("limit.hit"),
    /** A client wrote a file. */
    FILE_WRITTEN("file.written"),
    /** A client read a file. */
    FILE_READ("file.read"),
    /** A client made a folder, moved or removed something. */
    FILE_CHANGED("file.changed"),
    /** New and changed files were listed or brought to the host. */
    FILES_COLLECTED("files.collected"),
    /** A run began. */
    RUN_STARTED("run.started"),
    /** A run ended. */
    RUN_ENDED("run.ended"),
    /** The data channel of a sandbox broke; what is still inside is fetched again. */
    CONNECTION_LOST("connection.lost"),
    /** It is there again. */
    CONNECTION_RESUMED("connection.resumed"),
    /** Its processes were frozen. */
    SANDBOX_PAUSED("sandbox.paused"),
    /** Its processes go on. */
    SANDBOX_RESUMED("sandbox.resumed"),
    /** Its limits, lease or labels were changed. */
    SANDBOX_CHANGED("sandbox.changed"),
    /** It is gone or cannot be reached, and nobody knows why. */
    SANDBOX_LOST("sandbox.lost"),
    /** The disk of a sandbox was saved. */
    SNAPSHOT_CREATED("snapshot.created"),
    /** A saved disk was deleted. */
    SNAPSHOT_DELETED("snapshot.deleted"),
    /** A volume was made. */
    VOLUME_CREATED("volume.created"),
    /** A client changed what is in a volume; {@code reason} says how. */
    VOLUME_WRITTEN("volume.written"),
    /** A volume was deleted. */
    VOLUME_DELETED("volume.deleted"),
    /** A tenant was made. */
    TENANT_CREATED("tenant.created"),
    /** The quotas or settings of a tenant were changed. */
    TENANT_CHANGED("tenant.changed"),
    /** A tenant was deleted. */
    TENANT_DELETED("tenant.deleted"),
    /** A key was made. */
    KEY_CREATED("key.created"),
    /** A key is valid no more. */
    KEY_REVOKED("key.revoked"),
    /** A key got another secret. */
    KEY_ROTATED("key.rotated"),
    /** A policy was made, changed or deleted. */
    POLICY_CHANGED("policy.changed"),
    /** A person is asked whether something may happen. */
    APPROVAL_REQUESTED("approval.requested"),
    /** The person answered. */
    APPROVAL_DECIDED("approval.decided"),
    /** Nobody answered in time. */
    APPROVAL_EXPIRED("approval.expired"),
    /** A pool of ready sandboxes was made, changed or deleted. */
    POOL_CHANGED("pool.changed"),
    /** A webhook was made. */
    WEBHOOK_CREATED("webhook.created"),
    /** A webhook was deleted. */
    WEBHOOK_DELETED("webhook.deleted"),
    /** A delivery was given up. */
    WEBHOOK_FAILED("webhook.failed"),
    /** A secret was made; never its value. */
    SECRET_CREATED("secret.created"),
    /** A secret got another value. */
    SECRET_ROTATED("secret.rotated"),
    /** A secret was deleted: no request gets it any more. */
    SECRET_DELETED("secret.deleted"),
    /** The source of a secret cannot be read; its last value stays in force. */
    SECRET_FAILED("secret.failed"),
    /** A quota of the tenant stopped something. */
    QUOTA_EXCEEDED("quota.exceeded"),
    /** A port of a sandbox is served. */
    PORT_OPENED("port.opened"),
    /** It is not served any more. */
    PORT_CLOSED("port.closed"),
    /** The result of a run was deleted after its time. */
    RUN_EXPIRED("run.expired"),
    /** A server took over a command that an earlier one started. */
    EXEC_ADOPTED("exec.adopted"),
    /** The files of a run were deleted after their time. */
    FILES_EXPIRED("files.expired"),
    /** An operator acted for a tenant. */
    OPERATOR_ACTED("operator.acted"),
    /** Secrets were taken out of what left a sandbox; {@code data} has their count. */
    SECRET_REDACTED("secret.redacted"),
    /**
     * A connection of a sandbox went out; told at its end, {@code data} has where to and how much.
     */
    EGRESS_ALLOWED("egress.allowed"),
    /** The policy stopped a connection, a request or a name; {@code reason} is the rule. */
    EGRESS_DENIED("egress.denied"),
    /** No rule allows it, and the policy's mode let it through. */
    EGRESS_OBSERVED("egress.observed"),
    /** A way out got a policy, or another one. */
    POLICY_APPLIED("policy.applied"),
    /** A package was fetched from a registry; {@code data} has its name, version and hash. */
    PACKAGE_INSTALLED("package.installed"),
    /** A request of a sandbox got a secret. */
    SECRET_USED("secret.used"),
    /** A finding: a placeholder of a secret was sent where it does not belong, and was blocked. */
    SECRET_MISUSED("secret.misused"),
    /** A server began. */
    SERVER_STARTED("server.started"),
    /** A server ended in order. */
    SERVER_STOPPED("server.stopped"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    EventType(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static EventType of(String value) {
        return Closed.find(values(), EventType::value, value, UNKNOWN);
    }
}
