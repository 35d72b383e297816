package dev.caisson.api;

/** Kind of a file. */
public enum FileType {
    /** A regular file. */
    REGULAR("regular"),
    /** A folder. */
    DIRECTORY("directory"),
    /** A symbolic link. */
    SYMLINK("symlink"),
    /** A named pipe. */
    FIFO("fifo"),
    /** A Unix socket. */
    SOCKET("socket"),
    /** A block or character device. */
    DEVICE("device"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    FileType(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static FileType of(String value) {
        return Closed.find(values(), FileType::value, value, UNKNOWN);
    }
}
