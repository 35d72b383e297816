package dev.caisson.api;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Bytes that a program wrote, up to a limit. Immutable. */
public final class CapturedOutput {
    /** Nothing. */
    public static final CapturedOutput EMPTY = new CapturedOutput(new byte[0], 0);

    private final byte[] bytes;
    private final long totalBytes;
    private final boolean utf8;

    /**
     * Copies nothing: the array belongs to this object from now on.
     *
     * @param bytes what was kept
     * @param totalBytes what was written, kept or not
     */
    public CapturedOutput(byte[] bytes, long totalBytes) {
        int end = totalBytes > bytes.length ? endOfWholeCharacters(bytes) : bytes.length;
        boolean whole = isUtf8(bytes, end);
        this.bytes = whole && end < bytes.length ? java.util.Arrays.copyOf(bytes, end) : bytes;
        this.totalBytes = totalBytes;
        this.utf8 = whole;
    }

    /** What was kept; a copy. Cut between code points where it is text. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** How many bytes the program wrote. */
    public long totalBytes() {
        return totalBytes;
    }

    /** Whether something was discarded. */
    public boolean truncated() {
        return bytes.length < totalBytes;
    }

    /** {@code text} when the kept bytes are UTF-8, else {@code base64}. */
    public String encoding() {
        return utf8 ? "text" : "base64";
    }

    /** The kept bytes in their {@link #encoding()}. */
    public String data() {
        return utf8 ? text() : Base64.getEncoder().encodeToString(bytes);
    }

    /** The kept bytes as text; what is not UTF-8 becomes the replacement character. */
    public String text() {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return "CapturedOutput["
                + bytes.length
                + " of "
                + totalBytes
                + " bytes, "
                + encoding()
                + "]";
    }

    private static boolean isUtf8(byte[] bytes, int length) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, 0, length));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    /** The length without a code point that the end of the array cuts. */
    private static int endOfWholeCharacters(byte[] bytes) {
        int lead = bytes.length - 1;
        while (lead >= 0 && lead > bytes.length - 4 && (bytes[lead] & 0xC0) == 0x80) {
            lead--;
        }
        if (lead < 0) {
            return bytes.length;
        }
        int first = bytes[lead] & 0xFF;
        int needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
        return lead + needed > bytes.length ? lead : bytes.length;
    }
}
