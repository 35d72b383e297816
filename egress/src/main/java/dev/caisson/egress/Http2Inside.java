package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.api.server.ServerSessionListener;
import org.eclipse.jetty.http2.frames.GoAwayFrame;
import org.eclipse.jetty.http2.frames.HeadersFrame;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** HTTP/2 with a program inside: a thread for each of its requests. */
final class Http2Inside implements ServerSessionListener {
    private static final Duration AFTER_END = Duration.ofSeconds(2);
    // A program that goes on and on does not want to be told.
    private static final int MOST_REFUSED = 100;
    private static final Logger LOG = LoggerFactory.getLogger(Http2Inside.class);

    private final RequestCheck check;
    private final HttpForward forward;
    private final ServingRoom room;
    private final String sandbox;
    private final AtomicInteger refused = new AtomicInteger();
    private final CountDownLatch over = new CountDownLatch(1);

    Http2Inside(Destination.Named to, HttpForward forward, ServingRoom room, String sandbox) {
        this.check = new RequestCheck(to, Scheme.HTTPS);
        this.forward = forward;
        this.room = room;
        this.sandbox = sandbox;
    }

    /** Waits until the connection is over. */
    void await() throws InterruptedException {
        over.await();
    }

    @Override
    public Stream.Listener onNewStream(Stream stream, HeadersFrame frame) {
        long bytes = ServingRoom.of(frame.getMetaData());
        if (!room.take(sandbox, bytes)) {
            return refuse(stream);
        }
        One one = new One(stream, frame);
        Thread.ofVirtual()
                .name("egress-h2-request")
                .start(() -> {
                    try {
                        one.serve();
                    } finally {
                        // Not before: a stream that the program reset may still wait for a server.
                        room.give(sandbox, bytes);
                    }
                });
        return one;
    }

    // The code says that it was not looked at and may be sent again. There is no answer, which
    // would have to be kept until the program takes it.
    private Stream.Listener refuse(Stream stream) {
        forward.full();
        if (refused.incrementAndGet() > MOST_REFUSED) {
            stream.getSession()
                    .close(ErrorCode.ENHANCE_YOUR_CALM_ERROR.code, "too much", Callback.NOOP);
        } else {
            stream.reset(
                    new ResetFrame(stream.getId(), ErrorCode.REFUSED_STREAM_ERROR.code),
                    Callback.NOOP);
        }
        return new Stream.Listener() {};
    }

    @Override
    public void onClose(Session session, GoAwayFrame frame, Callback callback) {
        over.countDown();
        callback.succeeded();
    }

    @Override
    public void onFailure(Session session, Throwable failure, Callback callback) {
        over.countDown();
        callback.succeeded();
    }

    private final class One implements Exchange, Stream.Listener {
        private final Stream stream;
        private final HeadersFrame frame;
        private final Http2Body data;
        private final AtomicBoolean answered = new AtomicBoolean();
        private RequestHead head = new RequestHead("", "/", Map.of());
        private HttpBody body = HttpBody.EMPTY;

        One(Stream stream, HeadersFrame frame) {
            this.stream = stream;
            this.frame = frame;
            long length = frame.getMetaData().getContentLength();
            this.data = new Http2Body(stream, length < 0 ? -1 : length);
        }

        void serve() {
            try {
                if (check()) {
                    forward.serve(this);
                }
            } catch (IOException e) {
                // The program has gone, or was shown that the answer is broken.
                abort();
            } catch (RuntimeException e) {
                LOG.error("a request failed", e);
                abort(); // nobody waits for an answer that does not come
            }
        }

        private boolean check() throws IOException {
            RequestHead raw = null;
            try {
                if (!(frame.getMetaData() instanceof MetaData.Request request)) {
                    throw new BadHttpException(400, "no request");
                }
                raw = raw(request);
                head = check.check(raw);
                body = frame.isEndStream() ? HttpBody.EMPTY : data;
                Http2Messages.length(head.headers());
                return true;
            } catch (DeniedException e) {
                if (raw != null) {
                    forward.record("egress", raw, e.verdict());
                }
                refuse(Refusal.denied(e.verdict()));
            } catch (BadHttpException e) {
                refuse(Refusal.failed(e.status(), e.why()));
            }
            return false;
        }

        private RequestHead raw(MetaData.Request request) throws IOException {
            HttpURI uri = request.getHttpURI();
            Map<String, List<String>> headers = Http2Messages.fields(request.getHttpFields());
            String authority = uri.getAuthority();
            List<String> hosts = headers.get("host");
            if (authority != null) {
                // Both are for the same host, or the request has two meanings.
                if (hosts != null
                        && (hosts.size() != 1 || !hosts.getFirst().equalsIgnoreCase(authority))) {
                    throw new BadHttpException(400, "Host is not :authority");
                }
                HttpHeaders.set(headers, "host", authority);
            }
            if (!"https".equals(uri.getScheme())) {
                throw new BadHttpException(400, "bad :scheme");
            }
            String path = uri.getPathQuery();
            return new RequestHead(request.getMethod(), path == null ? "" : path, headers);
        }

        private void refuse(Refusal refusal) throws IOException {
            answer(refusal.head(), refusal.body());
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
            return false;
        }

        @Override
        public void interim(AnswerHead interim) throws IOException {
            send(interim, false);
        }

        @Override
        public void answer(AnswerHead answer, HttpBody content) throws IOException {
            answered.set(true);
            if (answer.bodiless(head.method())) {
                send(answer, true);
            } else {
                send(answer, false);
                Http2Messages.send(stream, content);
            }
            if (!stream.isRemotelyClosed()) {
                // The program need not send the rest of its request (RFC 9113, 8.1).
                stream.reset(
                        new ResetFrame(stream.getId(), ErrorCode.NO_ERROR.code), Callback.NOOP);
            }
        }

        @Override
        public Duplex tunnel(AnswerHead answer) throws IOException {
            throw new BadHttpException(502, "an upgrade in HTTP/2");
        }

        @Override
        public boolean answered() {
            return answered.get();
        }

        @Override
        public void abort() {
            stream.reset(
                    new ResetFrame(stream.getId(), ErrorCode.INTERNAL_ERROR.code), Callback.NOOP);
        }

        private void send(AnswerHead answer, boolean last) throws IOException {
            MetaData.Response response =
                    new MetaData.Response(
                            answer.status(),
                            null,
                            HttpVersion.HTTP_2,
                            Http2Messages.fields(answer.headers()));
            Http2Messages.await(
                    stream.headers(new HeadersFrame(stream.getId(), response, null, last)));
        }

        @Override
        public void onHeaders(Stream from, HeadersFrame trailers) {
            try {
                data.trailed(Http2Messages.fields(trailers.getMetaData().getHttpFields()));
            } catch (BadHttpException e) {
                data.failed(e);
                abort();
            }
        }

        @Override
        public void onDataAvailable(Stream from) {
            data.arrived();
        }

        @Override
        public void onReset(Stream from, ResetFrame reset, Callback callback) {
            data.failed(new IOException("The program reset the stream."));
            callback.succeeded();
        }

        @Override
        public void onFailure(
                Stream from, int error, String reason, Throwable failure, Callback callback) {
            data.failed(new IOException("The stream failed: " + reason, failure));
            callback.succeeded();
        }

        @Override
        public void onClosed(Stream from) {
            // The fields behind the data may be told of only now.
            Watchdog.later(AFTER_END, () -> data.failed(new IOException("The stream is closed.")));
        }
    }
}
