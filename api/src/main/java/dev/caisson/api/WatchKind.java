package dev.caisson.api;

/** What happened to a file or folder. */
public enum WatchKind {
    /** It is new under this name. */
    CREATED("created"),
    /** Its content was written. */
    WRITTEN("written"),
    /** It is gone. */
    REMOVED("removed"),
    /** It left this name; the new one is told as created. */
    RENAMED("renamed"),
    /** Its mode, owner or times changed. */
    ATTRIBUTES("attributes"),
    /** A value of a newer version. */
    UNKNOWN("unknown");

    private final String value;

    WatchKind(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }

    /** The constant of that wire name, {@link #UNKNOWN} for any other text. */
    public static WatchKind of(String value) {
        return Closed.find(values(), WatchKind::value, value, UNKNOWN);
    }
}
