package dev.caisson.api;

/** What ended an exec, as observed; never derived from an exit code. */
public enum ExecReason {
    /** The main process exited; see the exit code. */
    EXITED("exited"),
    /** A signal from inside ended the main process; see the signal. */
    SIGNALLED("signalled"),
    /** Its timeout. */
    TIMEOUT("timeout"),
    /** The memory limit. */
    OOM("oom"),
    /** The output limit, where the exec asked for that. */
    OUTPUT("output"),
    /** {@link Exec#cancel()}. */
    CANCELLED("cancelled"),
    /** {@link Exec#kill()}. */
    KILLED("killed"),
    /** Its sandbox ended. */
    SANDBOX_ENDED("sandbox_ended"),
    /** Not known: the sandbox could not be reached any more. */
    LOST("lost"),
    /** The agent failed to run it to its end. */
    ERROR("error"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    ExecReason(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static ExecReason of(String value) {
        return Closed.find(values(), ExecReason::value, value, UNKNOWN);
    }
}
