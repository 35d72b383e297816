package dev.caisson.control;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Where text may be cut. */
final class Utf8 {
    private Utf8() {}

    /** How many bytes at the end belong to a code point that is not whole yet; 0 to 3. */
    static int incomplete(byte[] bytes) {
        int lead = bytes.length - 1;
        while (lead >= 0 && lead > bytes.length - 4 && (bytes[lead] & 0xC0) == 0x80) {
            lead--;
        }
        if (lead < 0) {
            return 0;
        }
        int first = bytes[lead] & 0xFF;
        int needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
        int there = bytes.length - lead;
        return there < needed ? there : 0;
    }

    /** The text, when it is UTF-8. */
    static Optional<String> text(byte[] bytes, int length) {
        try {
            return Optional.of(
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .decode(ByteBuffer.wrap(bytes, 0, length))
                            .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }
}
