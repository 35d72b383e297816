package dev.caisson.client;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Names that somebody else chose, as text that shows whole: {@code %XX} for what does not. */
final class Escaped {
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private Escaped() {}

    static String name(String name, int limit) {
        StringBuilder text = new StringBuilder();
        name.codePoints()
                .limit(limit)
                .forEach(point -> {
                    if (shows(point)) {
                        text.appendCodePoint(point);
                    } else {
                        for (byte b : Character.toString(point).getBytes(StandardCharsets.UTF_8)) {
                            HEX.toHexDigits(text.append('%'), b);
                        }
                    }
                });
        return text.toString();
    }

    private static boolean shows(int point) {
        return point != '%'
                && switch (Character.getType(point)) {
                    case Character.CONTROL,
                            Character.FORMAT,
                            Character.SURROGATE,
                            Character.LINE_SEPARATOR,
                            Character.PARAGRAPH_SEPARATOR,
                            Character.UNASSIGNED ->
                            false;
                    default -> true;
                };
    }
}
