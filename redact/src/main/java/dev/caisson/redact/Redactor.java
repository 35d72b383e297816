package dev.caisson.redact;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.function.Consumer;

/**
 * Secrets to be taken out of streams, in every form that is looked for: plain, base64 in its three
 * alignments (both alphabets), hexadecimal, percent-encoded and JSON-escaped. Immutable, so safe
 * for use by several threads; the time is linear in the bytes, whatever they are.
 */
public final class Redactor {
    private Redactor() {}

    /**
     * A redactor of these secrets.
     *
     * @param secrets bytes, copied; those shorter than 6 are not looked for, since they would be
     *     found everywhere
     */
    public static Redactor of(Collection<byte[]> secrets) {
        throw new UnsupportedOperationException();
    }

    /** Whether it looks for nothing. */
    public boolean isEmpty() {
        throw new UnsupportedOperationException();
    }

    /** A new stream's state. */
    public Stream stream() {
        throw new UnsupportedOperationException();
    }

    /** The whole of some bytes, redacted. */
    public byte[] redact(byte[] all) {
        throw new UnsupportedOperationException();
    }

    /** One stream of bytes. Not safe for use by several threads. */
    public interface Stream {
        /**
         * Takes the next bytes and hands out what can be no part of a secret any more; keeps back
         * at most the longest form's length.
         *
         * @param out is called zero or more times, in order; may keep nothing of what it is given
         */
        void write(ByteBuffer bytes, Consumer<ByteBuffer> out);

        /** The end, or a pause after which nothing may be kept back: hands out the rest. */
        void flush(Consumer<ByteBuffer> out);

        /** How many secrets were taken out so far. */
        long found();
    }
}
