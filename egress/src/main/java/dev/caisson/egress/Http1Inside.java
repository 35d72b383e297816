package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.jetty.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/** HTTP/1.1 with a program inside: its requests, one after the other. One thread. */
final class Http1Inside {
    // What is read of a body that nobody wants, so that the answer arrives and the connection goes
    // on.
    private static final int DRAINED = 1 << 20;
    private static final Duration LINGER = Duration.ofSeconds(2);
    private static final Duration BUSY_LINGER = Duration.ofMillis(200);

    private final Duplex inside;
    private final RequestCheck check;
    private final HttpForward forward;
    private final Http1Reader reader;
    private final Http1Writer writer;

    Http1Inside(Duplex inside, Destination.Named to, Scheme scheme, HttpForward forward) {
        this.inside = inside;
        this.check = new RequestCheck(to, scheme);
        this.forward = forward;
        this.reader = Http1Reader.ofRequests(inside);
        this.writer = new Http1Writer(inside);
    }

    /** Serves until the connection is over. */
    void serve() throws IOException {
        boolean more = true;
        boolean readable = true;
        while (more) {
            try {
                Http1Reader.Request request = reader.request();
                if (request == null) {
                    return;
                }
                End end = serve(request);
                more = end == End.NEXT;
                readable = end != End.BUSY;
            } catch (BadHttpException e) {
                refuse(Refusal.failed(e.status(), e.why()));
                more = false;
            }
        }
        linger(readable);
    }

    private enum End {
        /** Another request may follow. */
        NEXT,
        /** The connection is over. */
        OVER,
        /** It is over, and a thread still reads the body. */
        BUSY
    }

    private End serve(Http1Reader.Request request) throws IOException {
        RequestHead checked;
        try {
            checked = check.check(request.head());
        } catch (DeniedException e) {
            forward.record("egress", request.head(), e.verdict());
            refuse(Refusal.denied(e.verdict()));
            return End.OVER;
        }
        One exchange = new One(request, checked);
        forward.serve(exchange);
        return exchange.end();
    }

    private void refuse(Refusal refusal) throws IOException {
        AnswerHead head = refusal.head();
        HttpHeaders.set(head.headers(), "connection", "close");
        writer.answer(head, Http1Writer.Framing.LENGTH);
        writer.body(refusal.body(), Http1Writer.Framing.LENGTH);
    }

    // A program that still sends would lose the answer to a reset.
    private void linger(boolean readable) throws IOException {
        inside.shutdownOutput();
        try (Watchdog _ = Watchdog.after(LINGER, inside)) {
            ByteBuffer dropped = ByteBuffer.allocate(16 << 10);
            for (int left = DRAINED; readable && left > 0; left -= dropped.position()) {
                if (inside.read(dropped.clear()) < 0) {
                    return;
                }
            }
            if (!readable) {
                Thread.sleep(BUSY_LINGER);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private final class One implements Exchange {
        private final Http1Reader.Request request;
        private final RequestHead head;
        private final boolean socket;
        private final Counted body;
        private boolean answered;
        private boolean closing;

        One(Http1Reader.Request request, RequestHead head) {
            this.request = request;
            this.head = head;
            this.body = new Counted(request.body());
            this.socket = asksForWebSocket();
            this.closing =
                    request.version() == HttpVersion.HTTP_1_0
                            || HttpHeaders.holds(request.head().headers(), "connection", "close");
        }

        @Override
        public RequestHead request() {
            return head;
        }

        @Override
        public HttpBody body() {
            return body;
        }

        @Override
        public boolean webSocket() {
            return socket;
        }

        @Override
        public void interim(AnswerHead interim) throws IOException {
            if (request.version() == HttpVersion.HTTP_1_1) {
                writer.answer(interim, Http1Writer.Framing.NONE);
            }
        }

        @Override
        public void answer(AnswerHead answer, HttpBody content) throws IOException {
            prepareEnd(answer.status());
            answered = true;
            Map<String, List<String>> headers = HttpHeaders.copy(answer.headers());
            Http1Writer.Framing framing = framing(answer, content, headers);
            if (closing && framing != Http1Writer.Framing.CLOSE) {
                HttpHeaders.set(headers, "connection", "close");
            }
            writer.answer(new AnswerHead(answer.status(), headers), framing);
            writer.body(content, framing);
        }

        @Override
        public Duplex tunnel(AnswerHead answer) throws IOException {
            answered = true;
            closing = true;
            writer.answer(answer, Http1Writer.Framing.NONE);
            return reader.tunnel();
        }

        @Override
        public boolean answered() {
            return answered;
        }

        @Override
        public void abort() {
            closing = true;
            inside.close();
        }

        End end() throws IOException {
            if (request.body().length() == 0) {
                body.next();
            }
            if (!body.ended && body.busy) {
                return End.BUSY;
            }
            return !closing && body.ended && reader.reusable() ? End.NEXT : End.OVER;
        }

        private boolean asksForWebSocket() {
            Map<String, List<String>> headers = request.head().headers();
            return request.version() == HttpVersion.HTTP_1_1
                    && request.head().method().equals("GET")
                    && request.body().length() == 0
                    && HttpHeaders.holds(headers, "connection", "upgrade")
                    && HttpHeaders.words(headers, "upgrade").equals(Set.of("websocket"));
        }

        // A body that the server did not want is read away when it is short; when the program
        // waits for leave to send it, or it is long, the connection ends behind the answer.
        private void prepareEnd(int status) throws IOException {
            if (body.ended || status < 400 || body.length() == 0) {
                return;
            }
            if (body.busy || head.headers().containsKey("expect") || body.length() > DRAINED) {
                closing = true;
                return;
            }
            long left = DRAINED;
            for (ByteBuffer bytes = body.next(); bytes != null; bytes = body.next()) {
                left -= bytes.remaining();
                if (left < 0) {
                    closing = true;
                    return;
                }
            }
        }

        private Http1Writer.Framing framing(
                AnswerHead answer, HttpBody content, Map<String, List<String>> headers) {
            if (answer.bodiless(head.method())) {
                if (answer.status() == 204 || answer.status() < 200) {
                    headers.remove("content-length");
                }
                return Http1Writer.Framing.NONE;
            }
            if (content.length() >= 0) {
                HttpHeaders.set(headers, "content-length", Long.toString(content.length()));
                return Http1Writer.Framing.LENGTH;
            }
            headers.remove("content-length");
            return request.version() == HttpVersion.HTTP_1_0
                    ? Http1Writer.Framing.CLOSE
                    : Http1Writer.Framing.CHUNKED;
        }
    }

    // Knows whether the body was read to its end, and whether another thread is at it.
    private static final class Counted implements HttpBody {
        private final HttpBody source;
        private volatile boolean busy;
        private volatile boolean ended;

        Counted(HttpBody source) {
            this.source = source;
            this.ended = false;
        }

        @Override
        public @Nullable ByteBuffer next() throws IOException {
            busy = true;
            ByteBuffer bytes = source.next();
            ended = bytes == null;
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
    }
}
