package dev.caisson.cli;

/**
 * Text that somebody else chose, as it may be shown: what moves the cursor, hides or turns text
 * around is escaped. Reads like {@code \x1b} and {@code \}{@code u202e}.
 */
final class Clean {
    private Clean() {}

    static String text(String given) {
        StringBuilder clean = new StringBuilder(given.length());
        given.codePoints().forEach(point -> append(clean, point));
        return clean.toString();
    }

    private static void append(StringBuilder clean, int point) {
        switch (point) {
            case '\t' -> clean.append("\\t");
            case '\n' -> clean.append("\\n");
            case '\r' -> clean.append("\\r");
            case '\\' -> clean.append("\\\\");
            default -> {
                if (shows(point)) {
                    clean.appendCodePoint(point);
                } else if (point < 0x100) {
                    clean.append(String.format("\\x%02x", point));
                } else {
                    clean.append(String.format(point > 0xFFFF ? "\\U%08x" : "\\u%04x", point));
                }
            }
        }
    }

    /**
     * Controls, formats (also those that turn text around), separators and what is no character.
     */
    private static boolean shows(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED ->
                    false;
            default -> true;
        };
    }
}
