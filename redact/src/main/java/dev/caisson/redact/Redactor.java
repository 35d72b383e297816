package dev.caisson.redact;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Secrets to be taken out of streams, in every form that is looked for: plain, base64 in its three
 * alignments (both alphabets), base32 in its five, hexadecimal, and each of these percent-encoded,
 * escaped as in JSON, or broken into lines. Immutable, so safe for use by several threads; the time
 * is linear in the bytes, whatever they are.
 *
 * <p>What is found is replaced by {@link #REPLACEMENT}, so lengths change.
 */
public final class Redactor {
    /** What stands in the place of a secret. */
    public static final String REPLACEMENT = "[redacted]";

    /** Shorter secrets are not looked for. */
    public static final int MIN_LENGTH = 6;

    /** Longer secrets are refused. */
    public static final int MAX_LENGTH = 64 << 10;

    private static final Shared SHARED = new Shared();

    /** Looks for nothing. */
    public static final Redactor NONE = new Redactor(null, null);

    private final @Nullable Trie trie;
    private final @Nullable Sieve sieve;

    private Redactor(@Nullable Trie trie, @Nullable Sieve sieve) {
        this.trie = trie;
        this.sieve = sieve;
    }

    /**
     * A redactor of these secrets. White space around a secret is not looked for. Costs some 2
     * microseconds and 1 KiB for each byte of a secret, so keep it; whoever asks for the same
     * secrets meanwhile gets the same one.
     *
     * @param secrets bytes, copied; those shorter than 6 are not looked for, since they would be
     *     found everywhere
     * @throws IllegalArgumentException when one is longer than {@link #MAX_LENGTH}
     */
    public static Redactor of(Collection<byte[]> secrets) {
        Set<String> cores = new HashSet<>();
        for (byte[] secret : secrets) {
            if (secret.length > MAX_LENGTH) {
                throw new IllegalArgumentException(
                        "A secret has at most " + MAX_LENGTH + " bytes, not " + secret.length);
            }
            byte[] core = stripped(secret);
            if (core.length >= MIN_LENGTH) {
                cores.add(new String(core, StandardCharsets.ISO_8859_1));
            }
        }
        return cores.isEmpty() ? NONE : SHARED.of(cores, () -> made(cores));
    }

    private static Redactor made(Set<String> cores) {
        Set<String> forms = new HashSet<>();
        cores.forEach(core -> forms.addAll(Forms.of(Forms.bytes(core))));
        List<byte[]> bytes = forms.stream().map(Forms::bytes).toList();
        return new Redactor(new Trie(bytes), new Sieve(bytes));
    }

    private static byte[] stripped(byte[] secret) {
        int start = 0;
        int end = secret.length;
        while (start < end && isSpace(secret[start])) {
            start++;
        }
        while (end > start && isSpace(secret[end - 1])) {
            end--;
        }
        return java.util.Arrays.copyOfRange(secret, start, end);
    }

    private static boolean isSpace(byte b) {
        return b == ' ' || b == '\t' || b == '\r' || b == '\n';
    }

    /** Whether it looks for nothing. */
    public boolean isEmpty() {
        return trie == null;
    }

    /** A new stream's state. */
    public Stream stream() {
        return trie == null || sieve == null ? new Plain() : new Scan(trie, sieve);
    }

    /** The whole of some bytes, redacted. */
    public byte[] redact(byte[] all) {
        if (isEmpty()) {
            return all.clone();
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(all.length);
        Consumer<ByteBuffer> append =
                part ->
                        out.write(
                                part.array(),
                                part.arrayOffset() + part.position(),
                                part.remaining());
        Stream stream = stream();
        stream.write(ByteBuffer.wrap(all), append);
        stream.flush(append);
        return out.toByteArray();
    }

    /** A text, redacted; the text itself when nothing was found. */
    public String redact(String text) {
        if (isEmpty()) {
            return text;
        }
        String redacted =
                new String(redact(text.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8);
        return redacted.contains(REPLACEMENT) ? redacted : text;
    }

    /** One stream of bytes. Not safe for use by several threads. */
    public interface Stream {
        /**
         * Takes the next bytes and hands out what can be no part of a secret any more; keeps back
         * what may be the beginning of one, at most six times the longest form.
         *
         * @param out is called zero or more times, in order, with buffers that have an array; may
         *     keep nothing of what it is given
         */
        void write(ByteBuffer bytes, Consumer<ByteBuffer> out);

        /**
         * The end, or a pause after which nothing may be kept back: hands out the rest. When what
         * was handed out goes on as a secret, what comes later of it is still taken out.
         */
        void flush(Consumer<ByteBuffer> out);

        /** How many bytes are kept back. */
        int held();

        /** How many secrets were taken out so far. */
        long found();
    }

    /** Passes everything on. */
    private static final class Plain implements Stream {
        @Override
        public void write(ByteBuffer bytes, Consumer<ByteBuffer> out) {
            if (bytes.hasArray() && bytes.hasRemaining()) {
                out.accept(bytes.duplicate());
            } else if (bytes.hasRemaining()) {
                byte[] copy = new byte[bytes.remaining()];
                bytes.duplicate().get(copy);
                out.accept(ByteBuffer.wrap(copy));
            }
            bytes.position(bytes.limit());
        }

        @Override
        public void flush(Consumer<ByteBuffer> out) {}

        @Override
        public int held() {
            return 0;
        }

        @Override
        public long found() {
            return 0;
        }
    }
}
