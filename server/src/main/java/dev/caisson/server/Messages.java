package dev.caisson.server;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.eclipse.jetty.http.HttpCompliance;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpParser;
import org.eclipse.jetty.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1 messages of one direction of a connection, one after the other, by Jetty's parser at
 * strict compliance. Of one thread.
 */
final class Messages implements HttpParser.RequestHandler, HttpParser.ResponseHandler {
    private static final int MAX_HEAD = 32 << 10;

    private final Source source;
    private final HttpParser parser;
    private final byte[] memory = new byte[32 << 10];
    private ByteBuffer buffer = ByteBuffer.allocate(0);
    private List<HttpField> fields = new ArrayList<>();
    private String first = "";
    private String target = "";
    private int status;
    private @Nullable HttpVersion version;
    private boolean headDone;
    private boolean messageDone;
    private boolean cut;
    private boolean progress;
    private @Nullable HttpException bad;
    private @Nullable ByteBuffer content;

    /** Where bytes come from. */
    @FunctionalInterface
    interface Source {
        /** Some bytes; negative at the end. */
        int read(byte[] target) throws IOException;
    }

    /** What a message begins with. */
    record Head(
            String method,
            String target,
            int status,
            HttpVersion version,
            List<HttpField> fields,
            boolean chunked,
            long length) {
        Head {
            fields = List.copyOf(fields);
        }

        List<String> values(String name) {
            return fields.stream()
                    .filter(field -> field.getName().equalsIgnoreCase(name))
                    .map(field -> field.getValue() == null ? "" : field.getValue())
                    .toList();
        }

        /** The one value of that name. */
        Optional<String> value(String name) {
            List<String> values = values(name);
            return values.size() == 1 ? Optional.of(values.getFirst()) : Optional.empty();
        }

        boolean has(String name, String word) {
            return values(name).stream()
                    .flatMap(value -> List.of(value.split(",")).stream())
                    .anyMatch(part -> part.strip().equalsIgnoreCase(word));
        }
    }

    /** The message is not one that has exactly one reading. */
    static final class Malformed extends IOException {
        private static final long serialVersionUID = 1;
        private final int status;

        Malformed(int status, String message) {
            super(message);
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    private Messages(Source source, boolean requests) {
        this.source = source;
        this.parser =
                requests
                        ? new HttpParser(
                                (HttpParser.RequestHandler) this, MAX_HEAD, HttpCompliance.STRICT)
                        : new HttpParser(
                                (HttpParser.ResponseHandler) this, MAX_HEAD, HttpCompliance.STRICT);
    }

    static Messages requests(Source source) {
        return new Messages(source, true);
    }

    static Messages responses(Source source, boolean toHead) {
        Messages messages = new Messages(source, false);
        messages.parser.setHeadResponse(toHead);
        return messages;
    }

    /** The head of the next message; empty when there is none. */
    Optional<Head> head() throws IOException {
        fields = new ArrayList<>();
        headDone = false;
        messageDone = false;
        parser.reset();
        while (!headDone) {
            if (cut || parser.isClosed()) {
                return Optional.empty();
            }
            step();
        }
        HttpVersion known = version;
        if (known == null) {
            throw new Malformed(400, "It has no version.");
        }
        return Optional.of(
                new Head(
                        first,
                        target,
                        status,
                        known,
                        fields,
                        parser.isChunking(),
                        parser.getContentLength()));
    }

    /** The next bytes of the body, good until the next call; null at its end. */
    @Nullable ByteBuffer content() throws IOException {
        content = null;
        while (content == null && !messageDone) {
            if (cut) {
                throw new Malformed(400, "It was cut off.");
            }
            step();
        }
        return content;
    }

    /** Parses what is here; reads more only when that leads nowhere. */
    private void step() throws IOException {
        progress = false;
        parser.parseNext(buffer);
        if (bad != null) {
            throw new Malformed(bad.getCode(), "It is not valid HTTP.");
        }
        if (progress || buffer.hasRemaining()) {
            return;
        }
        if (parser.isAtEOF()) {
            cut = true;
            return;
        }
        int read = source.read(memory);
        if (read < 0) {
            parser.atEOF();
        } else {
            buffer = ByteBuffer.wrap(memory, 0, read);
        }
    }

    /** What was read beyond the head, when the connection is no HTTP any more. */
    byte[] rest() {
        byte[] rest = new byte[buffer.remaining()];
        buffer.get(rest);
        return rest;
    }

    @Override
    public void startRequest(String method, String uri, HttpVersion httpVersion) {
        first = method;
        target = uri;
        version = httpVersion;
    }

    @Override
    public void startResponse(HttpVersion httpVersion, int code, @Nullable String reason) {
        status = code;
        version = httpVersion;
    }

    @Override
    public void parsedHeader(HttpField field) {
        fields.add(field);
    }

    @Override
    public boolean headerComplete() {
        headDone = true;
        progress = true;
        return true;
    }

    @Override
    public boolean content(ByteBuffer part) {
        content = part;
        progress = true;
        return true;
    }

    @Override
    public boolean contentComplete() {
        return false;
    }

    @Override
    public boolean messageComplete() {
        messageDone = true;
        progress = true;
        return true;
    }

    @Override
    public void earlyEOF() {
        cut = true;
        progress = true;
    }

    @Override
    public void badMessage(HttpException failure) {
        bad = failure;
    }
}
