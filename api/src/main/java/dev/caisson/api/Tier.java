package dev.caisson.api;

/** How strong the boundary of a sandbox is. */
public enum Tier {
    /** Own namespaces, the host's kernel behind a system call filter. */
    CONTAINER("container"),
    /** A user-space kernel between the program and the host's. */
    GVISOR("gvisor"),
    /** Own kernel in a virtual machine. */
    MICROVM("microvm"),
    /** The strongest tier that this host has an engine for. Only in requests. */
    AUTO("auto"),
    /** A value of a newer version. Only in answers. */
    UNKNOWN("unknown");

    private final String value;

    Tier(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The tier of that wire name, {@link #UNKNOWN} for any other text. */
    public static Tier of(String value) {
        return Closed.find(values(), Tier::value, value, UNKNOWN);
    }
}
