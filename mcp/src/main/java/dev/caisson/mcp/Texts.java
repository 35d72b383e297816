package dev.caisson.mcp;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/** Bytes of programs as the text that JSON can carry. */
final class Texts {
    private static final int LONGEST_CHARACTER = 4;

    private Texts() {}

    /**
     * A piece: text where it is UTF-8, else base64.
     *
     * @param skipped bytes at the start that belong to a character before
     * @param bytes how many are in {@code data}
     */
    record Piece(String encoding, String data, int skipped, int bytes) {
        boolean text() {
            return encoding.equals("text");
        }
    }

    /** A piece out of the middle of something; characters that its ends cut are left out. */
    static Piece piece(byte[] bytes) {
        int start = 0;
        while (start < bytes.length && start < LONGEST_CHARACTER - 1 && continues(bytes[start])) {
            start++;
        }
        for (int end = bytes.length; end > start && end > bytes.length - LONGEST_CHARACTER; end--) {
            try {
                ByteBuffer part = ByteBuffer.wrap(bytes, start, end - start);
                String text = StandardCharsets.UTF_8.newDecoder().decode(part).toString();
                return new Piece("text", text, start, end - start);
            } catch (CharacterCodingException e) {
                // One byte less may be whole characters.
            }
        }
        return bytes.length == 0 ? new Piece("text", "", 0, 0) : base64(bytes);
    }

    static Piece base64(byte[] bytes) {
        return new Piece("base64", Base64.getEncoder().encodeToString(bytes), 0, bytes.length);
    }

    private static boolean continues(byte octet) {
        return (octet & 0xC0) == 0x80;
    }

    /** At most that many UTF-16 units from the start, cut between characters. */
    static String head(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        return text.substring(
                0, Character.isHighSurrogate(text.charAt(most - 1)) ? most - 1 : most);
    }

    /** At most that many UTF-16 units from the end, cut between characters. */
    static String tail(String text, int most) {
        int from = Math.max(0, text.length() - most);
        boolean cuts = from > 0 && Character.isLowSurrogate(text.charAt(from));
        return text.substring(cuts ? from + 1 : from);
    }

    /** The media type of an image that models read, by its first bytes; empty: none. */
    static String image(byte[] bytes) {
        if (starts(bytes, 0, 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n')) {
            return "image/png";
        }
        if (starts(bytes, 0, 0xFF, 0xD8, 0xFF)) {
            return "image/jpeg";
        }
        if (starts(bytes, 0, 'G', 'I', 'F', '8')) {
            return "image/gif";
        }
        if (starts(bytes, 0, 'R', 'I', 'F', 'F') && starts(bytes, 8, 'W', 'E', 'B', 'P')) {
            return "image/webp";
        }
        return "";
    }

    private static boolean starts(byte[] bytes, int at, int... octets) {
        if (bytes.length < at + octets.length) {
            return false;
        }
        byte[] wanted = new byte[octets.length];
        for (int i = 0; i < octets.length; i++) {
            wanted[i] = (byte) octets[i];
        }
        return Arrays.equals(bytes, at, at + octets.length, wanted, 0, wanted.length);
    }
}
