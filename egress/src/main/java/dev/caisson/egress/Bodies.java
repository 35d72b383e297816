package dev.caisson.egress;

import dev.caisson.redact.Redactor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import org.jspecify.annotations.Nullable;

/** Bodies made of other bodies. */
final class Bodies {
    private static final int BUFFER = 32 << 10;

    private Bodies() {}

    /** Looks at each piece before it passes. */
    interface Look {
        void at(ByteBuffer bytes) throws IOException;
    }

    /** The bytes of an array. */
    static HttpBody of(byte[] bytes) {
        return new HttpBody() {
            private boolean read;

            @Override
            public @Nullable ByteBuffer next() {
                if (read || bytes.length == 0) {
                    return null;
                }
                read = true;
                return ByteBuffer.wrap(bytes);
            }

            @Override
            public long length() {
                return bytes.length;
            }
        };
    }

    /** Bytes that were read already, and what follows them. */
    static HttpBody prefixed(byte[] first, HttpBody rest) {
        return new Wrapper(rest) {
            private boolean read = first.length == 0;

            @Override
            public @Nullable ByteBuffer next() throws IOException {
                if (!read) {
                    read = true;
                    return ByteBuffer.wrap(first);
                }
                return rest.next();
            }
        };
    }

    /** Somebody looks at what passes, and may throw. */
    static HttpBody watched(HttpBody source, Look look) {
        return new Wrapper(source) {
            @Override
            public @Nullable ByteBuffer next() throws IOException {
                ByteBuffer bytes = source.next();
                if (bytes != null) {
                    look.at(bytes.asReadOnlyBuffer());
                }
                return bytes;
            }
        };
    }

    /** The body of a request: that it fails is told apart from all else that fails. */
    static HttpBody ofRequest(HttpBody source) {
        return new Wrapper(source) {
            @Override
            public @Nullable ByteBuffer next() throws IOException {
                try {
                    return source.next();
                } catch (IOException e) {
                    throw new RequestBodyException(e);
                }
            }
        };
    }

    /** A tap looks on; the last piece waits for its word. */
    static HttpBody tapped(HttpBody source, AnswerFilter.Tap tap) {
        return new Wrapper(source) {
            private @Nullable ByteBuffer held;
            private boolean started;

            @Override
            public @Nullable ByteBuffer next() throws IOException {
                if (!started) {
                    started = true;
                    held = copy(source.next());
                    if (held == null) {
                        tap.end();
                    }
                }
                ByteBuffer now = held;
                if (now == null) {
                    return null;
                }
                tap.bytes(now.asReadOnlyBuffer());
                held = copy(source.next());
                if (held == null) {
                    tap.end();
                }
                return now;
            }

            private @Nullable ByteBuffer copy(@Nullable ByteBuffer bytes) {
                return bytes == null
                        ? null
                        : ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
            }
        };
    }

    /** Secrets are taken out; the length is another one. */
    static HttpBody redacted(HttpBody source, Redactor redactor) {
        return new Redacted(source.length() < 0 ? new Paused(source) : source, redactor);
    }

    /**
     * A content coding is taken off.
     *
     * @param coding {@code gzip} or {@code deflate}
     */
    static HttpBody decoded(HttpBody source, String coding) {
        return new Wrapper(source) {
            private @Nullable InputStream in;
            private boolean ended;
            private final byte[] buffer = new byte[BUFFER];

            @Override
            public @Nullable ByteBuffer next() throws IOException {
                if (ended) {
                    return null;
                }
                InputStream now = in;
                if (now == null) {
                    now = open(new Input(source), coding);
                    in = now;
                }
                int count = now.read(buffer);
                if (count < 0) {
                    end();
                    return null;
                }
                return ByteBuffer.wrap(buffer, 0, count);
            }

            // Gives the memory of the inflater back, which the collector does not see.
            private void end() throws IOException {
                ended = true;
                if (in != null) {
                    in.close();
                }
            }

            @Override
            public void cancel() {
                try {
                    end();
                } catch (IOException e) {
                    throw new IllegalStateException("A body has nothing that fails to close", e);
                }
                source.cancel();
            }

            @Override
            public long length() {
                return -1;
            }
        };
    }

    /**
     * The whole of it.
     *
     * @throws IOException when it is longer
     */
    static byte[] whole(HttpBody source, int maxBytes) throws IOException {
        byte[] first = first(source, maxBytes);
        if (first.length > maxBytes) {
            throw new IOException("The body is longer than " + maxBytes + " bytes.");
        }
        return first;
    }

    /** All of it, or somewhat more than {@code enough} bytes when it is longer. */
    static byte[] first(HttpBody source, int enough) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (all.size() <= enough) {
            ByteBuffer bytes = source.next();
            if (bytes == null) {
                break;
            }
            byte[] piece = new byte[bytes.remaining()];
            bytes.get(piece);
            all.write(piece);
        }
        return all.toByteArray();
    }

    private static InputStream open(InputStream raw, String coding) throws IOException {
        PushbackInputStream in = new PushbackInputStream(raw, 1);
        int first = in.read();
        if (first < 0) {
            return in;
        }
        in.unread(first);
        if (coding.equals("gzip")) {
            return new GZIPInputStream(in, BUFFER);
        }
        // Servers send deflate with and without the header of zlib.
        return (first & 0x0f) == 8
                ? new InflaterInputStream(in)
                : new InflaterInputStream(in, new Inflater(true)) {
                    @Override
                    public void close() throws IOException {
                        super.close();
                        inf.end();
                    }
                };
    }

    private abstract static class Wrapper implements HttpBody {
        private final HttpBody source;

        Wrapper(HttpBody source) {
            this.source = source;
        }

        @Override
        public long length() {
            return source.length();
        }

        @Override
        public Map<String, List<String>> trailers() {
            return source.trailers();
        }

        @Override
        public void cancel() {
            source.cancel();
        }
    }

    private static final class Redacted extends Wrapper {
        private final HttpBody source;
        private final Redactor redactor;
        private final Redactor.Stream stream;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private boolean ended;

        Redacted(HttpBody source, Redactor redactor) {
            super(source);
            this.source = source;
            this.redactor = redactor;
            this.stream = redactor.stream();
        }

        @Override
        public @Nullable ByteBuffer next() throws IOException {
            while (!ended) {
                out.reset();
                ByteBuffer bytes = source.next();
                ended = bytes == null;
                if (bytes == null || !bytes.hasRemaining()) {
                    stream.flush(this::keep);
                } else {
                    stream.write(bytes, this::keep);
                }
                if (out.size() > 0) {
                    return ByteBuffer.wrap(out.toByteArray());
                }
            }
            return null;
        }

        @Override
        public long length() {
            return -1;
        }

        @Override
        public Map<String, List<String>> trailers() {
            return HttpRedaction.headers(source.trailers(), redactor);
        }

        private void keep(ByteBuffer bytes) {
            byte[] piece = new byte[bytes.remaining()];
            bytes.get(piece);
            out.writeBytes(piece);
        }
    }

    private static final class Input extends InputStream {
        private final HttpBody source;
        private @Nullable ByteBuffer now;

        Input(HttpBody source) {
            this.source = source;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            ByteBuffer bytes = now;
            while (bytes == null || !bytes.hasRemaining()) {
                bytes = source.next();
                now = bytes;
                if (bytes == null) {
                    return -1;
                }
            }
            int count = Math.min(length, bytes.remaining());
            bytes.get(into, offset, count);
            return count;
        }
    }
}
