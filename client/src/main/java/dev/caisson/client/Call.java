package dev.caisson.client;

import dev.caisson.v1.Json;
import java.io.InputStream;
import java.net.URLEncoder;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One request that is being put together. One thread. */
final class Call {
    private static final SecureRandom RANDOM = new SecureRandom();

    /** Until an answer begins, the whole upload before it included. */
    private static final Duration UPLOAD = Duration.ofHours(1);

    /** What may be done after a connection that broke without an answer. */
    enum Again {
        /** The request changes nothing, or nothing more the second time. */
        ALWAYS,
        /** The server may have done it: only answers that say "not now" are asked again. */
        WHEN_REFUSED,
        /** Not even then, since the body cannot be sent a second time. */
        NEVER
    }

    private final String method;
    private final StringBuilder path = new StringBuilder();
    private final Map<String, String> headers = new LinkedHashMap<>();
    private char separator = '?';
    private Supplier<BodyPublisher> body = BodyPublishers::noBody;
    private Again again;
    private @Nullable Duration timeout;

    private Call(String method, Again again, String... segments) {
        this.method = method;
        this.again = again;
        for (String segment : segments) {
            path.append('/').append(segment(segment));
        }
    }

    static Call get(String... segments) {
        return new Call("GET", Again.ALWAYS, segments);
    }

    static Call put(String... segments) {
        return new Call("PUT", Again.ALWAYS, segments);
    }

    static Call delete(String... segments) {
        return new Call("DELETE", Again.ALWAYS, segments);
    }

    /** A PATCH of absolute values. */
    static Call patch(String... segments) {
        return new Call("PATCH", Again.ALWAYS, segments);
    }

    static Call post(String... segments) {
        return new Call("POST", Again.WHEN_REFUSED, segments);
    }

    /** A POST that makes something; the server does it once, however often it is sent. */
    static Call create(String... segments) {
        byte[] random = new byte[16];
        RANDOM.nextBytes(random);
        return new Call("POST", Again.ALWAYS, segments)
                .header("Idempotency-Key", HexFormat.of().formatHex(random));
    }

    /** A part of a path: never more than one, never one that a server takes for a step. */
    private static String segment(String text) {
        if (text.isEmpty() || text.equals(".") || text.equals("..")) {
            throw dev.caisson.api.CaissonException.invalid(
                    "id", "'" + text + "' is no id and no name.");
        }
        return encode(text);
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** A path of several parts, each of them encoded. */
    Call below(String relative) {
        for (String segment : relative.split("/", -1)) {
            path.append('/').append(segment(segment));
        }
        return this;
    }

    /** One more parameter; null and empty ones are left out. */
    Call query(String name, @Nullable Object value) {
        if (value != null && !value.toString().isEmpty()) {
            path.append(separator)
                    .append(encode(name))
                    .append('=')
                    .append(encode(value.toString()));
            separator = '&';
        }
        return this;
    }

    Call header(String name, String value) {
        headers.put(name, value);
        return this;
    }

    Call json(Object form) {
        byte[] bytes = Json.bytes(form);
        headers.put("Content-Type", "application/json");
        body = () -> BodyPublishers.ofByteArray(bytes);
        return this;
    }

    Call bytes(byte[] bytes, int offset, int length) {
        headers.put("Content-Type", "application/octet-stream");
        body = () -> BodyPublishers.ofByteArray(bytes, offset, length);
        return this;
    }

    /** A body that is read once, so the request is sent once. */
    Call stream(InputStream stream, String type) {
        headers.put("Content-Type", type);
        body = () -> BodyPublishers.ofInputStream(() -> stream);
        again = Again.NEVER;
        timeout = UPLOAD;
        return this;
    }

    Call again(Again other) {
        again = other;
        return this;
    }

    Call timeout(Duration other) {
        timeout = other;
        return this;
    }

    String method() {
        return method;
    }

    String target() {
        return path.toString();
    }

    Map<String, String> headers() {
        return headers;
    }

    BodyPublisher body() {
        return body.get();
    }

    Again again() {
        return again;
    }

    Duration timeoutOr(Duration normal) {
        return timeout == null ? normal : timeout;
    }
}
