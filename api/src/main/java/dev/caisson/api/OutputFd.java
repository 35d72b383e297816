package dev.caisson.api;

/** Where a program wrote to. */
public enum OutputFd {
    /** Descriptor 1. */
    STDOUT("stdout"),
    /** Descriptor 2. */
    STDERR("stderr"),
    /** The terminal of an exec that has one, for both descriptors. */
    PTY("pty"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    OutputFd(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static OutputFd of(String value) {
        return Closed.find(values(), OutputFd::value, value, UNKNOWN);
    }
}
