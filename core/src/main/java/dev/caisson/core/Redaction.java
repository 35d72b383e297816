package dev.caisson.core;

import dev.caisson.redact.Redactor;
import java.util.Objects;

/**
 * What is taken out of the bytes that leave a sandbox: secrets come and go while it lives. Empty at
 * first, which costs nothing. Safe for use by several threads.
 */
public final class Redaction {
    private volatile Redactor current = Redactor.NONE;

    /** Holds for output and for files whose reading begins from now on. */
    public void set(Redactor redactor) {
        current = Objects.requireNonNull(redactor);
    }

    /** What is looked for now. */
    public Redactor current() {
        return current;
    }
}
