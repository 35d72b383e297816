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
