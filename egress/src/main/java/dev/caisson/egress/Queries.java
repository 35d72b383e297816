package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Paths and queries of targets, taken apart without losing how they were written. */
final class Queries {
    private Queries() {}

    /** The parts of a query, as written; empty when there is none. */
    static List<String> parts(String target) {
        int mark = target.indexOf('?');
        List<String> parts = new ArrayList<>();
        if (mark >= 0 && mark + 1 < target.length()) {
            parts.addAll(List.of(target.substring(mark + 1).split("&", -1)));
        }
        return parts;
    }

    /** A target with another query. */
    static String with(String target, List<String> parts) {
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        return parts.isEmpty() ? path : path + "?" + String.join("&", parts);
    }

    /** The name of a part, decoded. */
    static String name(String part) {
        int equal = part.indexOf('=');
        return decode((equal < 0 ? part : part.substring(0, equal)).replace('+', ' '));
    }

    /** Takes escapes off; what is none stays. */
    static String decode(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int value = c == '%' && i + 2 < text.length() ? hex(text, i + 1) : -1;
            if (value >= 0) {
                bytes.write(value);
                i += 2;
            } else {
                bytes.writeBytes(String.valueOf(c).getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** Escapes all but the unreserved characters (RFC 3986, 2.3). */
    static String encode(String text) {
        StringBuilder out = new StringBuilder(text.length());
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            int c = b & 0xff;
            if ((c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9')
                    || "-._~".indexOf(c) >= 0) {
                out.append((char) c);
            } else {
                out.append('%')
                        .append(Character.toUpperCase(Character.forDigit(c >> 4, 16)))
                        .append(Character.toUpperCase(Character.forDigit(c & 15, 16)));
            }
        }
        return out.toString();
    }

    private static int hex(String text, int at) {
        int high = Character.digit(text.charAt(at), 16);
        int low = Character.digit(text.charAt(at + 1), 16);
        return high < 0 || low < 0 ? -1 : high << 4 | low;
    }
}
