package dev.caisson.egress;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/** HTTP/1.1 with a server: one request at a time. */
final class Http1Upstream implements Upstream {
    private static final int MAX_INTERIM = 32;
    // A server that answered may have the last byte in its hands before our writer has returned.
    private static final Duration WRITER_ENDS = Duration.ofMillis(200);

    private final Duplex connection;
    private final Http1Reader reader;
    private final Http1Writer writer;
    private final AtomicReference<@Nullable IOException> writeFailure = new AtomicReference<>();
    private volatile boolean persistent = true;
    private volatile boolean busy;
    private @Nullable Thread body;

    Http1Upstream(Duplex connection) {
        this.connection = connection;
        this.reader = Http1Reader.ofAnswers(connection);
        this.writer = new Http1Writer(connection);
    }

    @Override
    public Reply send(RequestHead head, HttpBody content, Interim interim) throws IOException {
        busy = true;
        try {
            write(head, content);
            return read(head, interim);
        } catch (IOException e) {
            persistent = false;
            connection.close();
            IOException cause = writeFailure.get();
            throw cause instanceof DeniedException || cause instanceof RequestBodyException
                    ? cause
                    : e;
        }
    }

    @Override
    public boolean reusable() {
        return persistent && !busy;
    }

    @Override
    public void close() {
        connection.close();
    }

    private void write(RequestHead head, HttpBody content) throws IOException {
        Http1Writer.Framing framing = framing(content);
        Map<String, List<String>> headers = HttpHeaders.copy(head.headers());
        if (framing == Http1Writer.Framing.CHUNKED) {
            headers.remove("content-length");
        } else if (framing == Http1Writer.Framing.LENGTH) {
            HttpHeaders.set(headers, "content-length", Long.toString(content.length()));
        }
        writer.request(new RequestHead(head.method(), head.target(), headers), framing);
        if (framing != Http1Writer.Framing.NONE) {
            body = Thread.ofVirtual().name("egress-body").start(() -> pump(content, framing));
        }
    }

    private static Http1Writer.Framing framing(HttpBody content) {
        if (content.length() == 0) {
            return Http1Writer.Framing.NONE;
        }
        return content.length() < 0 ? Http1Writer.Framing.CHUNKED : Http1Writer.Framing.LENGTH;
    }

    private void pump(HttpBody content, Http1Writer.Framing framing) {
        try {
            writer.body(content, framing);
        } catch (IOException e) {
            writeFailure.set(e);
            // The server must not take half of it for the whole, and whoever waits for the answer
            // learns of it.
            connection.close();
        }
    }

    private Reply read(RequestHead head, Interim interim) throws IOException {
        for (int i = 0; i < MAX_INTERIM; i++) {
            Http1Reader.Answer answer = reader.answer(head.method());
            AnswerHead got = answer.head();
            if (got.status() == 101) {
                if (!head.headers().containsKey("upgrade")) {
                    throw new BadHttpException(502, "an upgrade that nobody asked for");
                }
                persistent = false;
                return new Reply(got, HttpBody.EMPTY, Optional.of(reader.tunnel()));
            }
            if (got.interim()) {
                drain(answer.body());
                interim.answer(got);
                continue;
            }
            List<String> coding = got.headers().get("transfer-encoding");
            boolean chunked =
                    coding != null
                            && coding.size() == 1
                            && coding.getFirst().equalsIgnoreCase("chunked");
            if (coding != null && !chunked) {
                throw new BadHttpException(502, "bad transfer coding");
            }
            boolean untilClose =
                    !chunked && answer.body().length() < 0 && !got.bodiless(head.method());
            persistent =
                    answer.version() == HttpVersion.HTTP_1_1
                            && !untilClose
                            && !HttpHeaders.holds(got.headers(), "connection", "close");
            return new Reply(got, new Content(answer.body()), Optional.empty());
        }
        throw new BadHttpException(502, "too many interim answers");
    }

    private static void drain(HttpBody interim) throws IOException {
        if (interim.next() != null) {
            throw new BadHttpException(502, "an interim answer with a body");
        }
    }

    // The body's end gives the connection back.
    private final class Content implements HttpBody {
        private final HttpBody source;

        Content(HttpBody source) {
            this.source = source;
        }

        @Override
        public @Nullable ByteBuffer next() throws IOException {
            ByteBuffer bytes = source.next();
            if (bytes == null) {
                finish();
            }
            return bytes;
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
            connection.close();
        }

        private void finish() throws IOException {
            Thread writing = body;
            try {
                if (writing != null && !writing.join(WRITER_ENDS)) {
                    persistent = false;
                    connection.close();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted while a request was sent.");
            }
            if (writeFailure.get() != null) {
                persistent = false;
            }
            body = null;
            busy = false;
        }
    }
}
