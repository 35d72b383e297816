package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.http.HttpStatus;

/**
 * Writes HTTP/1.1 messages anew: nothing that was parsed goes out as it came. One thread at a time.
 */
final class Http1Writer {
    private static final byte[] CRLF = {'\r', '\n'};

    private final Duplex to;

    Http1Writer(Duplex to) {
        this.to = to;
    }

    /** How the end of a body is known. */
    enum Framing {
        /** There is none. */
        NONE,
        /** A Content-Length is among the headers. */
        LENGTH,
        /** In chunks. */
        CHUNKED,
        /** The end of the connection. */
        CLOSE
    }

    void request(RequestHead head, Framing framing) throws IOException {
        StringBuilder text = new StringBuilder(512);
        if (!HttpHeaders.isToken(head.method()) || !isTarget(head.target())) {
            throw new BadHttpException(400, "bad request line");
        }
        text.append(head.method()).append(' ').append(head.target()).append(" HTTP/1.1\r\n");
        fields(text, head.headers(), framing);
    }

    void answer(AnswerHead head, Framing framing) throws IOException {
        HttpStatus.Code code = HttpStatus.getCode(head.status());
        StringBuilder text = new StringBuilder(512);
        text.append("HTTP/1.1 ")
                .append(head.status())
                .append(' ')
                .append(code == null ? "" : code.getMessage())
                .append("\r\n");
        fields(text, head.headers(), framing);
    }

    /** Writes a body to its end. */
    void body(HttpBody body, Framing framing) throws IOException {
        if (framing == Framing.NONE) {
            return;
        }
        long left = framing == Framing.LENGTH ? body.length() : Long.MAX_VALUE;
        for (ByteBuffer bytes = body.next(); bytes != null; bytes = body.next()) {
            left -= bytes.remaining();
            if (left < 0) {
                throw new IOException("The body is longer than was said.");
            }
            if (framing == Framing.CHUNKED) {
                chunk(bytes);
            } else {
                to.write(bytes);
            }
        }
        if (framing == Framing.LENGTH && left > 0) {
            throw new IOException("The body is shorter than was said.");
        }
        if (framing == Framing.CHUNKED) {
            end(body.trailers());
        }
    }

    static boolean isTarget(String target) {
        return (target.startsWith("/") || target.equals("*"))
                && target.chars().allMatch(c -> c > ' ' && c < 0x7f && c != '#');
    }

    // One write per chunk: a small piece of a stream is on its way at once.
    private void chunk(ByteBuffer bytes) throws IOException {
        byte[] size =
                (Integer.toHexString(bytes.remaining()) + "\r\n")
                        .getBytes(StandardCharsets.US_ASCII);
        ByteBuffer out = ByteBuffer.allocate(size.length + bytes.remaining() + 2);
        to.write(out.put(size).put(bytes).put(CRLF).flip());
    }

    private void end(Map<String, List<String>> trailers) throws IOException {
        StringBuilder text = new StringBuilder("0\r\n");
        append(text, HttpHeaders.safeTrailers(trailers));
        send(text.append("\r\n"));
    }

    private void fields(StringBuilder text, Map<String, List<String>> headers, Framing framing)
            throws IOException {
        append(text, headers);
        if (framing == Framing.CHUNKED) {
            text.append("Transfer-Encoding: chunked\r\n");
        } else if (framing == Framing.CLOSE) {
            text.append("Connection: close\r\n");
        }
        send(text.append("\r\n"));
    }

    private static void append(StringBuilder text, Map<String, List<String>> headers)
            throws IOException {
        for (Map.Entry<String, List<String>> field : headers.entrySet()) {
            for (String value : field.getValue()) {
                if (!HttpHeaders.isToken(field.getKey()) || !HttpHeaders.isValue(value)) {
                    throw new BadHttpException(400, "bad header field");
                }
                name(text, field.getKey());
                text.append(": ").append(value).append("\r\n");
            }
        }
    }

    // Old programs compare names with their case, against the RFC.
    private static void name(StringBuilder text, String name) {
        boolean first = true;
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            text.append(first && c >= 'a' && c <= 'z' ? (char) (c - 32) : c);
            first = c == '-';
        }
    }

    private void send(StringBuilder text) throws IOException {
        to.write(ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.ISO_8859_1)));
    }
}
