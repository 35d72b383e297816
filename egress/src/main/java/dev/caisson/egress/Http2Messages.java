package dev.caisson.egress;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.frames.DataFrame;
import org.eclipse.jetty.http2.frames.HeadersFrame;

/** Messages as HTTP/2 frames them, and waiting until they are sent. */
final class Http2Messages {
    private Http2Messages() {}

    /** The fields of a message by lower-case name, checked as those of HTTP/1.1 are. */
    static Map<String, List<String>> fields(HttpFields fields) throws BadHttpException {
        Map<String, List<String>> all = new LinkedHashMap<>();
        for (HttpField field : fields) {
            String value = field.getValue();
            HttpHeaders.add(all, field.getLowerCaseName(), value == null ? "" : value);
        }
        if (all.containsKey("connection")
                || all.containsKey("transfer-encoding")
                || all.containsKey("upgrade")
                || all.containsKey("keep-alive")
                || all.containsKey("proxy-connection")) {
            throw new BadHttpException(400, "connection fields in HTTP/2");
        }
        List<String> cookies = all.get("cookie");
        if (cookies != null && cookies.size() > 1) {
            // Cookies may come apart in HTTP/2 only (RFC 9113, 8.2.3).
            HttpHeaders.set(all, "cookie", String.join("; ", cookies));
        }
        return all;
    }

    static HttpFields.Mutable fields(Map<String, List<String>> headers) throws BadHttpException {
        HttpFields.Mutable fields = HttpFields.build();
        for (Map.Entry<String, List<String>> field : headers.entrySet()) {
            for (String value : field.getValue()) {
                if (!HttpHeaders.isToken(field.getKey()) || !HttpHeaders.isValue(value)) {
                    throw new BadHttpException(400, "bad header field");
                }
                fields.add(field.getKey(), value);
            }
        }
        return fields;
    }

    /**
     * What the length of a body is said to be.
     *
     * @return −1 when it is not said
     */
    static long length(Map<String, List<String>> headers) throws BadHttpException {
        List<String> said = headers.get("content-length");
        if (said == null) {
            return -1;
        }
        if (said.size() != 1 || !said.getFirst().matches("[0-9]{1,18}")) {
            throw new BadHttpException(400, "bad content length");
        }
        return Long.parseLong(said.getFirst());
    }

    /** Sends a body to its end; waits while the other side takes nothing. */
    static void send(Stream stream, HttpBody body) throws IOException {
        long left = body.length() < 0 ? Long.MAX_VALUE : body.length();
        for (ByteBuffer bytes = body.next(); bytes != null; bytes = body.next()) {
            left -= bytes.remaining();
            if (left < 0) {
                throw new IOException("The body is longer than was said.");
            }
            await(stream.data(new DataFrame(stream.getId(), bytes.slice(), false)));
        }
        if (body.length() >= 0 && left > 0) {
            throw new IOException("The body is shorter than was said.");
        }
        Map<String, List<String>> trailers = HttpHeaders.safeTrailers(body.trailers());
        if (trailers.isEmpty()) {
            await(stream.data(new DataFrame(stream.getId(), ByteBuffer.allocate(0), true)));
        } else {
            await(
                    stream.headers(
                            new HeadersFrame(
                                    stream.getId(),
                                    new MetaData(HttpVersion.HTTP_2, fields(trailers)),
                                    null,
                                    true)));
        }
    }

    static <T> T await(CompletableFuture<T> sent) throws IOException {
        try {
            return sent.get();
        } catch (ExecutionException e) {
            throw new IOException("The stream is over.", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("Interrupted while a stream was written.");
        }
    }
}
