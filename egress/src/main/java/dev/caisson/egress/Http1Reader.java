package dev.caisson.egress;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpParser;
import org.eclipse.jetty.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/**
 * Reads HTTP/1.1 messages from a connection, one after the other, at the strictest compliance: what
 * could be read in two ways is refused. One thread at a time.
 */
final class Http1Reader {
    private static final int MAX_HEADERS = 32 << 10;
    private static final int BUFFER = 32 << 10;

    private final Duplex from;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).flip();
    private final boolean requests;
    private final Events events = new Events();
    private final HttpParser parser;
    private boolean begun;

    private Http1Reader(Duplex from, boolean requests) {
        this.from = from;
        this.requests = requests;
        this.parser =
                requests
                        ? new HttpParser(
                                (HttpParser.RequestHandler) events,
                                MAX_HEADERS,
                                HttpCompliance.STRICT)
                        : new HttpParser(
                                (HttpParser.ResponseHandler) events,
                                MAX_HEADERS,
                                HttpCompliance.STRICT);
    }

    static Http1Reader ofRequests(Duplex from) {
        return new Http1Reader(from, true);
    }

    static Http1Reader ofAnswers(Duplex from) {
        return new Http1Reader(from, false);
    }

    /** A request line with its headers, and its version. */
    record Request(RequestHead head, HttpVersion version, HttpBody body) {}

    /** A status line with its headers, and its version. */
    record Answer(AnswerHead head, HttpVersion version, HttpBody body) {}

    /**
     * The next request; the body of the one before was read to its end.
     *
     * @return null when the connection ended between requests
     */
    @Nullable Request request() throws IOException {
        if (!head()) {
            return null;
        }
        String method = events.method;
        HttpVersion version = events.version;
        if (version != HttpVersion.HTTP_1_1 && version != HttpVersion.HTTP_1_0) {
            throw new BadHttpException(505, "HTTP version not supported");
        }
        List<String> coding = events.headers.get("transfer-encoding");
        if (coding != null
                && (version == HttpVersion.HTTP_1_0
                        || coding.size() != 1
                        || !coding.getFirst().equalsIgnoreCase("chunked")
                        || events.headers.containsKey("content-length"))) {
            throw new BadHttpException(400, "bad transfer coding");
        }
        return new Request(new RequestHead(method, events.target, events.headers), version, body());
    }

    /**
     * The next answer; interim ones too.
     *
     * @param method of the request
     */
    Answer answer(String method) throws IOException {
        parser.setHeadResponse(method.equals("HEAD"));
        if (!head()) {
            throw new EOFException("The server closed the connection before it answered.");
        }
        return new Answer(new AnswerHead(events.status, events.headers), events.version, body());
    }

    /** Whether another message may follow the one that was read. */
    boolean reusable() {
        return events.complete && !parser.isClose() && !parser.isClosed();
    }

    /** What follows an answer 101: bytes that are not HTTP any more. */
    Duplex tunnel() {
        return new Duplex() {
            @Override
            public int read(ByteBuffer into) throws IOException {
                if (!buffer.hasRemaining()) {
                    return from.read(into);
                }
                int count = Math.min(buffer.remaining(), into.remaining());
                into.put(buffer.slice(buffer.position(), count));
                buffer.position(buffer.position() + count);
                return count;
            }

            @Override
            public void write(ByteBuffer bytes) throws IOException {
                from.write(bytes);
            }

            @Override
            public void shutdownOutput() throws IOException {
                from.shutdownOutput();
            }

            @Override
            public void close() {
                from.close();
            }
        };
    }

    // Whether there was one; false at the end of the connection.
    private boolean head() throws IOException {
        parser.reset();
        events.reset();
        begun = false;
        while (!events.headerComplete) {
            if (!begun && skipEmptyLines()) {
                return false;
            }
            step();
            if (events.headerComplete) {
                break;
            }
            if (!buffer.hasRemaining() && !fill()) {
                if (!begun) {
                    return false;
                }
                throw new BadHttpException(400, "ended within the header");
            }
        }
        return true;
    }

    // Line ends before a request line are skipped, as the RFC wants it; true at the end.
    private boolean skipEmptyLines() throws IOException {
        int skipped = 0;
        while (true) {
            if (!buffer.hasRemaining() && !fill()) {
                return true;
            }
            byte first = buffer.get(buffer.position());
            boolean lineEnd = first == '\r' || first == '\n';
            if (!lineEnd || !requests || ++skipped > 8) {
                begun = true;
                return false;
            }
            buffer.get();
        }
    }

    private long length() {
        if (events.complete) {
            return 0;
        }
        if (parser.isChunking()) {
            return -1;
        }
        // An answer without a length goes on to the end of the connection; a request has no body.
        return requests ? Math.max(0, parser.getContentLength()) : parser.getContentLength();
    }

    private HttpBody body() {
        long known = length();
        return new HttpBody() {
            @Override
            public @Nullable ByteBuffer next() throws IOException {
                return content();
            }

            @Override
            public long length() {
                return known;
            }

            @Override
            public Map<String, List<String>> trailers() {
                return events.trailers;
            }
        };
    }

    private @Nullable ByteBuffer content() throws IOException {
        while (!events.complete) {
            step();
            ByteBuffer piece = events.taken();
            if (piece != null) {
                return piece;
            }
            if (!events.complete && !buffer.hasRemaining() && !fill()) {
                parser.atEOF();
                step();
                if (!events.complete) {
                    throw new EOFException("The message ended before its end.");
                }
            }
        }
        return null;
    }

    // The sizes of chunks go in byte by byte, so that an extension is seen. It has no meaning for
    // anybody, but two readers may differ about where it ends.
    private void step() throws IOException {
        int left = buffer.remaining();
        HttpParser.State state = parser.getState();
        parse();
        if (events.failure != null) {
            throw events.failure;
        }
        if (left > 0
                && left == buffer.remaining()
                && state == parser.getState()
                && !events.headerComplete) {
            throw new BadHttpException(400, "bad message");
        }
    }

    private void parse() throws IOException {
        boolean size =
                requests
                        && (parser.isState(HttpParser.State.CHUNKED_CONTENT)
                                || parser.isState(HttpParser.State.CHUNK_SIZE));
        if (size && buffer.hasRemaining()) {
            byte next = buffer.get(buffer.position());
            if (next == ';' || next == ' ' || next == '\t') {
                throw new BadHttpException(400, "chunk extension");
            }
            int limit = buffer.limit();
            buffer.limit(buffer.position() + 1);
            try {
                parser.parseNext(buffer);
            } finally {
                int position = Math.min(buffer.position(), limit);
                buffer.limit(limit).position(position);
            }
        } else {
            parser.parseNext(buffer);
        }
    }

    private boolean fill() throws IOException {
        buffer.clear();
        try {
            return from.read(buffer) >= 0;
        } finally {
            buffer.flip();
        }
    }

    private final class Events implements HttpParser.RequestHandler, HttpParser.ResponseHandler {
        private String method = "";
        private String target = "";
        private int status;
        private HttpVersion version = HttpVersion.HTTP_1_1;
        private Map<String, List<String>> headers = Map.of();
        private Map<String, List<String>> trailers = Map.of();
        private @Nullable ByteBuffer content;
        private boolean headerComplete;
        private boolean complete;
        private @Nullable IOException failure;

        void reset() {
            headers = new LinkedHashMap<>();
            trailers = new LinkedHashMap<>();
            content = null;
            headerComplete = false;
            complete = false;
        }

        @Nullable ByteBuffer taken() {
            ByteBuffer piece = content;
            content = null;
            return piece;
        }

        @Override
        public void startRequest(String name, String uri, HttpVersion spoken) {
            method = name;
            target = uri;
            version = spoken;
        }

        @Override
        public void startResponse(HttpVersion spoken, int code, String reason) {
            status = code;
            version = spoken;
        }

        @Override
        public void parsedHeader(HttpField field) {
            add(headers, field);
        }

        @Override
        public void parsedTrailer(HttpField field) {
            add(trailers, field);
        }

        private void add(Map<String, List<String>> to, HttpField field) {
            String value = field.getValue();
            try {
                HttpHeaders.add(to, field.getName(), value == null ? "" : value);
            } catch (BadHttpException e) {
                failure = e;
            }
        }

        @Override
        public boolean headerComplete() {
            headerComplete = true;
            return true;
        }

        @Override
        public boolean content(ByteBuffer bytes) {
            content = bytes;
            return true;
        }

        @Override
        public boolean contentComplete() {
            return false;
        }

        @Override
        public boolean messageComplete() {
            complete = true;
            return true;
        }

        @Override
        public void earlyEOF() {
            failure =
                    parser.isAtEOF()
                            ? new EOFException("The message ended before its end.")
                            : new BadHttpException(400, "bad body");
        }

        @Override
        public void badMessage(HttpException bad) {
            failure = new BadHttpException(bad.getCode(), String.valueOf(bad.getReason()));
        }
    }
}
