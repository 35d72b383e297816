package dev.caisson.api;

/** A limit that a program met, as observed. */
public enum Limit {
    /** Memory, counted with files in /tmp and /dev/shm. */
    MEMORY("memory"),
    /** Number of processes and threads. */
    PIDS("pids"),
    /** Bytes of the writable layer. */
    DISK("disk"),
    /** Files of the writable layer. */
    INODES("inodes"),
    /** Bytes of captured output. */
    OUTPUT("output"),
    /** The timeout of the exec. */
    TIME("time"),
    /** CPU time per period; the program was slowed down. */
    CPU("cpu"),
    /** Bytes per second of disk traffic. */
    IO("io"),
    /** Bytes to the network. */
    EGRESS("egress"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    Limit(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static Limit of(String value) {
        return Closed.find(values(), Limit::value, value, UNKNOWN);
    }
}
