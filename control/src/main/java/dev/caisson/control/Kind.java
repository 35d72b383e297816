package dev.caisson.control;

/** What a {@link Row} is. */
public enum Kind {
    TENANT("tenant"),
    KEY("key"),
    POLICY("policy"),
    SANDBOX("sandbox"),
    EXEC("exec"),
    RUN("run"),
    /**
     * What a run that ended gave, beside its row: lists of runs must not hold the output of all.
     */
    RESULT("result"),
    SNAPSHOT("snapshot"),
    VOLUME("volume"),
    POOL("pool"),
    APPROVAL("approval"),
    WEBHOOK("webhook"),
    SECRET("secret"),
    /** An answer that is replayed for an idempotency key. */
    ANSWER("answer");

    private final String value;

    Kind(String value) {
        this.value = value;
    }

    /** The word in the store. */
    public String value() {
        return value;
    }
}
