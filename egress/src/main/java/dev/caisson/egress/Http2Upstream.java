package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.ErrorCode;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.frames.GoAwayFrame;
import org.eclipse.jetty.http2.frames.HeadersFrame;
import org.eclipse.jetty.http2.frames.ResetFrame;
import org.eclipse.jetty.http2.frames.SettingsFrame;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/** HTTP/2 with a server: many requests at a time. */
final class Http2Upstream implements Upstream, Session.Listener {
    private static final Duration AFTER_END = Duration.ofSeconds(2);

    private final Destination.Named to;
    private final CompletableFuture<Session> session = new CompletableFuture<>();
    private final AtomicInteger streams = new AtomicInteger();
    private volatile int mostStreams = 100;
    private volatile boolean leaving;

    Http2Upstream(Destination.Named to) {
        this.to = to;
    }

    /** The session began, or not. */
    CompletableFuture<Session> session() {
        return session;
    }

    @Override
    public Reply send(RequestHead head, HttpBody body, Interim interim) throws IOException {
        Session now = Http2Messages.await(session);
        Map<String, List<String>> headers = HttpHeaders.copy(head.headers());
        headers.remove("host");
        if (HttpHeaders.one(headers, "content-type")
                .filter(type -> type.startsWith("application/grpc"))
                .isPresent()) {
            // Servers of gRPC want to be sure that nobody on the way drops the trailers.
            HttpHeaders.set(headers, "te", "trailers");
        }
        boolean empty = body.length() == 0;
        Answers answers = new Answers(interim);
        HeadersFrame frame = new HeadersFrame(request(head, headers), null, empty);
        streams.incrementAndGet();
        Stream stream;
        try {
            stream = Http2Messages.await(now.newStream(frame, answers));
        } catch (IOException e) {
            streams.decrementAndGet();
            throw e;
        }
        if (!empty) {
            Thread.ofVirtual().name("egress-body").start(() -> pump(stream, body, answers));
        }
        return answers.await();
    }

    @Override
    public boolean reusable() {
        return !leaving
                && streams.get() < mostStreams
                && session.isDone()
                && !session.isCompletedExceptionally()
                && !session.join().isClosed();
    }

    @Override
    public void close() {
        leaving = true;
        if (session.isDone() && !session.isCompletedExceptionally()) {
            session.join().close(ErrorCode.NO_ERROR.code, "", Callback.NOOP);
        }
    }

    @Override
    public void onSettings(Session from, SettingsFrame frame) {
        Integer most = frame.getSettings().get(SettingsFrame.MAX_CONCURRENT_STREAMS);
        if (most != null) {
            mostStreams = most;
        }
    }

    @Override
    public void onGoAway(Session from, GoAwayFrame frame) {
        leaving = true;
    }

    @Override
    public void onClose(Session from, GoAwayFrame frame, Callback callback) {
        leaving = true;
        callback.succeeded();
    }

    @Override
    public void onFailure(Session from, Throwable failure, Callback callback) {
        leaving = true;
        callback.succeeded();
    }

    private MetaData.Request request(RequestHead head, Map<String, List<String>> headers)
            throws BadHttpException {
        if (!HttpHeaders.isToken(head.method()) || !Http1Writer.isTarget(head.target())) {
            throw new BadHttpException(400, "bad request line");
        }
        HttpFields fields = Http2Messages.fields(headers);
        HttpURI uri =
                HttpURI.from(
                        "https",
                        to.host().value(),
                        to.port() == 443 ? -1 : to.port(),
                        head.target());
        return new MetaData.Request(head.method(), uri, HttpVersion.HTTP_2, fields);
    }

    private static void pump(Stream stream, HttpBody body, Answers answers) {
        try {
            Http2Messages.send(stream, body);
        } catch (IOException e) {
            answers.failed(e);
            stream.reset(
                    new ResetFrame(stream.getId(), ErrorCode.CANCEL_STREAM_ERROR.code),
                    Callback.NOOP);
        }
    }

    // Jetty's threads tell; one thread waits for the head, then reads the body.
    private final class Answers implements Stream.Listener {
        private final Interim interim;
        private final CompletableFuture<Reply> reply = new CompletableFuture<>();
        private final AtomicReference<@Nullable Http2Body> body = new AtomicReference<>();
        private final AtomicInteger over = new AtomicInteger();

        Answers(Interim interim) {
            this.interim = interim;
        }

        Reply await() throws IOException {
            try {
                return Http2Messages.await(reply);
            } catch (IOException e) {
                if (e.getCause() instanceof IOException cause) {
                    throw cause;
                }
                throw e;
            }
        }

        @Override
        public void onHeaders(Stream stream, HeadersFrame frame) {
            try {
                MetaData got = frame.getMetaData();
                if (got instanceof MetaData.Response response) {
                    answer(stream, response, frame.isEndStream());
                } else {
                    Http2Body known = body.get();
                    if (known != null) {
                        known.trailed(Http2Messages.fields(got.getHttpFields()));
                    }
                }
            } catch (IOException e) {
                failed(e);
                stream.reset(
                        new ResetFrame(stream.getId(), ErrorCode.PROTOCOL_ERROR.code),
                        Callback.NOOP);
            }
        }

        @Override
        public void onDataAvailable(Stream stream) {
            Http2Body known = body.get();
            if (known != null) {
                known.arrived();
            }
        }

        @Override
        public void onReset(Stream stream, ResetFrame frame, Callback callback) {
            boolean done = frame.getError() == ErrorCode.NO_ERROR.code;
            failed(
                    new IOException(
                            "The server reset the stream"
                                    + (done ? "." : " (" + frame.getError() + ").")));
            callback.succeeded();
        }

        @Override
        public void onFailure(
                Stream stream, int error, String reason, Throwable failure, Callback callback) {
            failed(new IOException("The stream failed: " + reason, failure));
            callback.succeeded();
        }

        @Override
        public void onClosed(Stream stream) {
            if (over.getAndIncrement() == 0) {
                streams.decrementAndGet();
            }
            // Jetty tells of the end before it tells of the fields that came with it. Whoever still
            // waits a while later would wait for ever.
            Watchdog.later(AFTER_END, () -> failed(new IOException("The stream is closed.")));
        }

        void failed(IOException why) {
            reply.completeExceptionally(why);
            Http2Body known = body.get();
            if (known != null) {
                known.failed(why);
            }
        }

        private void answer(Stream stream, MetaData.Response response, boolean last)
                throws IOException {
            AnswerHead head =
                    new AnswerHead(
                            response.getStatus(),
                            new LinkedHashMap<>(Http2Messages.fields(response.getHttpFields())));
            if (head.status() == 101) {
                throw new BadHttpException(502, "an upgrade in HTTP/2");
            }
            if (head.interim()) {
                interim.answer(head);
                return;
            }
            if (last) {
                reply.complete(new Reply(head, HttpBody.EMPTY, Optional.empty()));
                return;
            }
            Http2Body data = new Http2Body(stream, Http2Messages.length(head.headers()));
            body.set(data);
            reply.complete(new Reply(head, data, Optional.empty()));
        }
    }
}
