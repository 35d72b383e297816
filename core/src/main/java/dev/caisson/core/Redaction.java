package dev.caisson.core;

import dev.caisson.redact.Redactor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    /** Data of an event without secrets in its texts and lists of texts. */
    public Map<String, Object> redact(Map<String, Object> data) {
        Redactor redactor = current;
        if (redactor.isEmpty()) {
            return data;
        }
        Map<String, Object> redacted = new HashMap<>(data);
        redacted.replaceAll((name, value) -> redact(redactor, value));
        return Map.copyOf(redacted);
    }

    private static Object redact(Redactor redactor, Object value) {
        return switch (value) {
            case String text -> redactor.redact(text);
            case List<?> list -> list.stream().map(one -> redact(redactor, one)).toList();
            default -> value;
        };
    }

    /** Tells events without secrets. */
    Reporter over(Reporter reporter) {
        return (type, reason, data) -> reporter.emit(type, reason, () -> redact(data.get()));
    }
}
