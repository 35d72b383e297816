package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * File names of the sandbox, which are any bytes, as text and back: bytes that are not UTF-8, characters that do not show
 * and the percent sign are {@code %XX}. Different names have different texts.
 */
final class Names {
    private static final HexFormat HEX = HexFormat.of().withUpperCase();
    private static final int MAX_PATH = 4096;

    private Names() {}

    /** The text of a name or path. */
    static String escape(ByteString bytes) {
        return escape(bytes.toByteArray());
    }

    /** The text of a name or path. */
    static String escape(byte[] bytes) {
        StringBuilder text = new StringBuilder(bytes.length);
        int at = 0;
        while (at < bytes.length) {
            int length = characterAt(bytes, at);
            if (length == 0) {
                percent(text, bytes[at++]);
                continue;
            }
            String character = new String(bytes, at, length, StandardCharsets.UTF_8);
            if (shows(character.codePointAt(0))) {
                text.append(character);
            } else {
                for (int i = at; i < at + length; i++) {
                    percent(text, bytes[i]);
                }
            }
            at += length;
        }
        return text.toString();
    }

    /** The same with ASCII only, for hosts whose file names are. */
    static String escapeToAscii(byte[] bytes) {
        StringBuilder text = new StringBuilder(bytes.length);
        for (byte b : bytes) {
            if (b > 0x20 && b < 0x7F && b != '%') {
                text.append((char) b);
            } else {
                percent(text, b);
            }
        }
        return text.toString();
    }

    private static void percent(StringBuilder text, byte b) {
        HEX.toHexDigits(text.append('%'), b);
    }

    private static boolean shows(int codePoint) {
        return codePoint != '%'
                && switch (Character.getType(codePoint)) {
                    case Character.CONTROL,
                            Character.FORMAT,
                            Character.SURROGATE,
                            Character.LINE_SEPARATOR,
                            Character.PARAGRAPH_SEPARATOR,
                            Character.UNASSIGNED -> false;
                    default -> true;
                };
    }

    /** Bytes of the well-formed UTF-8 character at a position, 0 when there is none (RFC 3629, no surrogates, shortest form). */
    private static int characterAt(byte[] bytes, int at) {
        int first = bytes[at] & 0xFF;
        if (first < 0x80) {
            return 1;
        }
        int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
        if (first < 0xC2 || first > 0xF4 || at + length > bytes.length) {
            return 0;
        }
        int codePoint = first & (0x7F >> length);
        for (int i = 1; i < length; i++) {
            int next = bytes[at + i] & 0xFF;
            if ((next & 0xC0) != 0x80) {
                return 0;
            }
            codePoint = codePoint << 6 | next & 0x3F;
        }
        boolean wellFormed = length == 2
                || (length == 3 && codePoint >= 0x800 && (codePoint < 0xD800 || codePoint > 0xDFFF))
                || (length == 4 && codePoint >= 0x10000 && codePoint <= 0x10FFFF);
        return wellFormed ? length : 0;
    }

    /** The bytes of a text. */
    static byte[] unescape(String text) {
        if (text.indexOf('%') < 0) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        byte[] escaped = text.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(escaped.length);
        for (int i = 0; i < escaped.length; i++) {
            if (escaped[i] == '%' && i + 2 < escaped.length && hex(escaped[i + 1]) >= 0 && hex(escaped[i + 2]) >= 0) {
                bytes.write(hex(escaped[i + 1]) << 4 | hex(escaped[i + 2]));
                i += 2;
            } else {
                bytes.write(escaped[i]);
            }
        }
        return bytes.toByteArray();
    }

    private static int hex(byte digit) {
        return "0123456789ABCDEF".indexOf(digit);
    }

    /** An absolute path inside for a text that is absolute or relative to /work. */
    static ByteString inside(String text) {
        byte[] bytes = unescape(text.startsWith("/") ? text : "/work/" + text);
        if (text.isEmpty() || bytes.length >= MAX_PATH) {
            throw CaissonException.invalid("path", "A path inside is 1 to " + (MAX_PATH - 1) + " bytes.");
        }
        for (byte b : bytes) {
            if (b == 0) {
                throw CaissonException.invalid("path", "A path holds a NUL character.");
            }
        }
        return ByteString.copyFrom(bytes);
    }
}
