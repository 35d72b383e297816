package dev.caisson.server;

import dev.caisson.api.CaissonException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The path of a request, decoded once. What has a second reading is refused: {@code ..}, encoded
 * slashes, NUL, overlong UTF-8, encoded percent signs that hide one of these.
 */
final class RequestPath {
    private static final int MAX_LENGTH = 8 << 10;

    private RequestPath() {}

    /** The segments of an absolute path; {@code /} has none. */
    static List<String> segments(String raw) {
        if (raw.length() > MAX_LENGTH) {
            throw new Refusal(
                    414,
                    dev.caisson.api.ErrorCode.TOO_LARGE,
                    "The path of the request is too long.");
        }
        if (!raw.startsWith("/")) {
            throw malformed("It must begin with a slash.");
        }
        List<String> segments = new ArrayList<>();
        if (raw.length() > 1) {
            for (String segment : raw.substring(1).split("/", -1)) {
                segments.add(segment(segment));
            }
        }
        return segments;
    }

    private static String segment(String raw) {
        String decoded = decode(raw, false);
        if (decoded.isEmpty() || decoded.equals(".") || decoded.equals("..")) {
            throw malformed("Empty segments, '.' and '..' are refused.");
        }
        if (decoded.indexOf('/') >= 0 || raw.indexOf(';') >= 0) {
            throw malformed("Encoded slashes and ';' are refused.");
        }
        String lower = decoded.toLowerCase(Locale.ROOT);
        if (lower.contains("%2f") || lower.contains("%2e") || lower.contains("%00")) {
            throw malformed("It is encoded twice.");
        }
        return decoded;
    }

    /** Percent-decodes a text of printable ASCII into strict UTF-8 without control characters. */
    static String decode(String raw, boolean plusIsSpace) {
        ByteBuffer bytes = ByteBuffer.allocate(raw.length());
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            if (c <= ' ' || c >= 0x7F || c == '\\') {
                throw malformed("It holds a character that must be percent-encoded.");
            }
            if (c == '%') {
                if (i + 2 >= raw.length()) {
                    throw malformed("A percent sign is not followed by two hex digits.");
                }
                int high = Character.digit(raw.charAt(i + 1), 16);
                int low = Character.digit(raw.charAt(i + 2), 16);
                if (high < 0 || low < 0) {
                    throw malformed("A percent sign is not followed by two hex digits.");
                }
                bytes.put((byte) (high << 4 | low));
                i += 2;
            } else {
                bytes.put((byte) (plusIsSpace && c == '+' ? ' ' : c));
            }
        }
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
            if (text.chars().anyMatch(c -> c < ' ' || c == 0x7F)) {
                throw malformed("It holds a control character.");
            }
            return text;
        } catch (CharacterCodingException e) {
            throw malformed("It is not UTF-8.");
        }
    }

    private static CaissonException malformed(String why) {
        return CaissonException.invalid("path", "The URL of the request is malformed. " + why);
    }
}
