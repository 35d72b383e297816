package dev.caisson.mcp;

/** Text of others, made fit to stand in ours. */
final class Words {
    private static final int LONGEST = 300;

    private Words() {}

    /**
     * One line of visible characters, for sentences that a person reads: control and format
     * characters (among them those that change the direction of text) become escapes.
     */
    static String plain(String text) {
        StringBuilder plain = new StringBuilder();
        for (int at = 0; at < text.length() && plain.length() < LONGEST; ) {
            int point = text.codePointAt(at);
            at += Character.charCount(point);
            if (hidden(point)) {
                plain.append(String.format("\\u{%x}", point));
            } else {
                plain.appendCodePoint(point);
            }
        }
        return plain.length() >= LONGEST ? plain + "…" : plain.toString();
    }

    private static boolean hidden(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED ->
                    true;
            default -> false;
        };
    }

    /** Of the program, from its manifest. */
    static String version() {
        String version = Words.class.getPackage().getImplementationVersion();
        return version == null ? "development" : version;
    }
}
