package dev.caisson.policy;

import java.util.Optional;

/**
 * The path of a request in the one form that rules compare: escapes of printable characters are
 * decoded once, as servers do, other escapes are upper case; a star is {@code %2A}. What two
 * servers may read differently has no such form.
 */
public final class HttpPath {
    /** As long as the longest line that gateways take. */
    static final int MAX = 8192;

    private HttpPath() {}

    /** That form, or empty: no rule can say what such a path means. */
    public static Optional<String> normal(String path) {
        return normal(path, "%2A");
    }

    /** The same of a pattern, whose stars stay. */
    static Optional<String> pattern(String path) {
        return normal(path, "*");
    }

    private static Optional<String> normal(String path, String star) {
        int length = path.length();
        if (length == 0 || length > MAX || path.charAt(0) != '/') {
            return Optional.empty();
        }
        StringBuilder normal = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            char c = path.charAt(i);
            if (c == '%') {
                int decoded = escape(path, i);
                if (decoded < 0) {
                    return Optional.empty();
                }
                append(normal, decoded);
                i += 2;
            } else if (c == '*') {
                normal.append(star);
            } else if (clear(c)) {
                normal.append(c);
            } else {
                return Optional.empty();
            }
        }
        return segments(normal) ? Optional.of(normal.toString()) : Optional.empty();
    }

    /** The byte of an escape, or −1 where it is none, or hides what servers act on. */
    private static int escape(String path, int at) {
        if (at + 2 >= path.length()) {
            return -1;
        }
        int high = Hex.value(path.charAt(at + 1));
        int low = Hex.value(path.charAt(at + 2));
        if (high < 0 || low < 0) {
            return -1;
        }
        int decoded = (high << 4) | low;
        boolean hides = decoded < 0x20 || decoded == 0x7f || "/\\;%".indexOf(decoded) >= 0;
        return hides ? -1 : decoded;
    }

    private static void append(StringBuilder normal, int decoded) {
        if (decoded != '*' && clear(decoded)) {
            normal.append((char) decoded);
        } else {
            normal.append('%')
                    .append(Character.toUpperCase(Character.forDigit(decoded >> 4, 16)))
                    .append(Character.toUpperCase(Character.forDigit(decoded & 15, 16)));
        }
    }

    /** Printable ASCII but for what some servers cut a path at, or turn into a slash. */
    private static boolean clear(int c) {
        return c > 0x20 && c < 0x7f && "\\;?#".indexOf(c) < 0;
    }

    /** No segment is {@code .} or {@code ..}, and none but the last is empty. */
    private static boolean segments(CharSequence path) {
        int start = 1;
        for (int i = 1; i <= path.length(); i++) {
            if (i == path.length() || path.charAt(i) == '/') {
                int size = i - start;
                boolean dots =
                        (size == 1 && path.charAt(start) == '.')
                                || (size == 2
                                        && path.charAt(start) == '.'
                                        && path.charAt(start + 1) == '.');
                if (dots || (size == 0 && i < path.length())) {
                    return false;
                }
                start = i + 1;
            }
        }
        return true;
    }
}
