package dev.caisson.egress;

import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A request while the broker works on it. One thread. */
final class OutgoingRequest implements Broker.Outgoing {
    // A longer body is signed as unsigned: it is not kept.
    private static final int HASHED = 1 << 20;

    private final Exchange exchange;
    private final Scheme scheme;
    private final Map<String, List<String>> headers;
    private String target;
    private HttpBody body;
    private Optional<String> hash = Optional.empty();

    OutgoingRequest(Exchange exchange, Scheme scheme) {
        this.exchange = exchange;
        this.scheme = scheme;
        this.headers = HttpHeaders.copy(exchange.request().headers());
        this.target = exchange.request().target();
        this.body = exchange.body();
    }

    @Override
    public Scheme scheme() {
        return scheme;
    }

    @Override
    public String method() {
        return exchange.request().method();
    }

    @Override
    public String target() {
        return target;
    }

    @Override
    public void target(String changed) {
        target = changed;
    }

    @Override
    public Map<String, List<String>> headers() {
        return headers;
    }

    @Override
    public String bodyHash() throws IOException {
        if (hash.isEmpty()) {
            hash = Optional.of(hash());
        }
        return hash.get();
    }

    /** What is sent in the end. */
    RequestHead head() {
        return new RequestHead(method(), target, headers);
    }

    /** The body that is sent; what was read for the hash comes again. */
    HttpBody body() {
        return body;
    }

    private String hash() throws IOException {
        byte[] first = new byte[0];
        if (body.length() > HASHED) {
            return "UNSIGNED-PAYLOAD";
        }
        if (body.length() != 0) {
            if (headers.remove("expect") != null) {
                exchange.interim(new AnswerHead(100, Map.of()));
            }
            first = Bodies.first(body, HASHED);
            body = Bodies.prefixed(first, body);
        }
        if (first.length > HASHED) {
            return "UNSIGNED-PAYLOAD";
        }
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(first));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("This Java has no SHA-256.", e);
        }
    }
}
