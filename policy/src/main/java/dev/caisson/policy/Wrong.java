package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.util.Collection;

/** Refusals of documents that say what nobody understands. */
final class Wrong {
    private static final int SHOWN = 100;

    private Wrong() {}

    /** A field whose value cannot be. */
    static CaissonException field(String field, String requested, String allowed) {
        return CaissonException.invalid(
                        field,
                        "The policy's " + field + " cannot be '" + printable(requested) + "'.")
                .withRemedy("Give " + allowed + ".")
                .withDetail("requested", printable(requested))
                .withDetail("allowed", allowed);
    }

    /** The same refusal for the field that was read. */
    static CaissonException in(String field, CaissonException cause) {
        return CaissonException.invalid(field, "The policy's " + field + ": " + cause.message())
                .withRemedy(cause.remedy())
                .withDetail("requested", cause.details().getOrDefault("requested", ""))
                .withDetail("allowed", cause.details().getOrDefault("allowed", cause.remedy()));
    }

    static void few(String field, Collection<?> items, int most) {
        if (items.size() > most) {
            throw field(field, items.size() + " items", "at most " + most + " items");
        }
    }

    /** What was asked, short and without what could move a terminal. */
    static String printable(String text) {
        StringBuilder shown = new StringBuilder();
        text.codePoints()
                .limit(SHOWN)
                .forEach(c -> shown.appendCodePoint(c < 0x20 || c == 0x7f || odd(c) ? '?' : c));
        return text.length() > SHOWN ? shown + "…" : shown.toString();
    }

    private static boolean odd(int c) {
        int type = Character.getType(c);
        return type == Character.FORMAT
                || type == Character.CONTROL
                || type == Character.SURROGATE
                || type == Character.LINE_SEPARATOR
                || type == Character.PARAGRAPH_SEPARATOR;
    }
}
