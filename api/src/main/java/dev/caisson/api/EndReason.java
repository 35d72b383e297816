package dev.caisson.api;

/** Why a sandbox ended. */
public enum EndReason {
    /** Its owner closed or deleted it. */
    DELETED("deleted"),
    /** The time of its run was over. */
    TIMEOUT("timeout"),
    /** Nobody used it for too long. */
    IDLE("idle"),
    /** Its longest life was over. */
    MAX_LIFE("max_life"),
    /** Memory ran out in a run. */
    OOM("oom"),
    /** Its tenant's quota was used up. */
    QUOTA("quota"),
    /** A policy ended it. */
    POLICY("policy"),
    /** The client that owned it went away. */
    OWNER_GONE("owner_gone"),
    /** Its engine or its process 1 failed. */
    ENGINE_FAILED("engine_failed"),
    /** The host was started anew. */
    HOST_RESTARTED("host_restarted"),
    /** Not known. */
    LOST("lost"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    EndReason(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static EndReason of(String value) {
        return Closed.find(values(), EndReason::value, value, UNKNOWN);
    }
}
