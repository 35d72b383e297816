package dev.caisson.api;

/** What happens to a program that writes more than the output limit. */
public enum OnOutputLimit {
    /** The rest is counted and discarded, the program goes on. */
    TRUNCATE("truncate"),
    /** The program is killed; the reason is {@link ExecReason#OUTPUT}. */
    KILL("kill");

    private final String value;

    OnOutputLimit(String value) {
        this.value = value;
    }

    /** The name on the wire, lower case. */
    public String value() {
        return value;
    }
}
