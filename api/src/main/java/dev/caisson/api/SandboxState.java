package dev.caisson.api;

/** Where a sandbox is in its life. */
public enum SandboxState {
    /** Being made; takes no commands yet. */
    CREATING("creating"),
    /** Takes commands. */
    RUNNING("running"),
    /** Being frozen. */
    PAUSING("pausing"),
    /** Frozen; memory is kept. */
    PAUSED("paused"),
    /** Being thawed or restored. */
    RESUMING("resuming"),
    /** Being saved. */
    SNAPSHOTTING("snapshotting"),
    /** Being destroyed. */
    ENDING("ending"),
    /** Gone, with a known reason. */
    ENDED("ended"),
    /** Gone or unreachable, the reason is not known. */
    LOST("lost"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    SandboxState(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static SandboxState of(String value) {
        return Closed.find(values(), SandboxState::value, value, UNKNOWN);
    }
}
