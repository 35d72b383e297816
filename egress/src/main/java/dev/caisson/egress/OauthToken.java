package dev.caisson.egress;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretSlot;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * An access token by client credentials (RFC 6749, 4.4), fetched when it is needed and kept until
 * shortly before it expires. Many waiters cause one request. Safe for use by several threads.
 */
final class OauthToken {
    private static final int MAX_ANSWER = 64 << 10;
    private static final Duration RESERVE = Duration.ofSeconds(60);
    private static final Duration DEFAULT_LIFE = Duration.ofMinutes(5);
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final SecretSlot slot;
    private final String client;
    private final TokenServer server;
    private final Clock clock;
    private final Consumer<String> learned;
    private final ReentrantLock lock = new ReentrantLock();
    // Guarded by lock.
    private String token = "";
    private Instant until = Instant.MIN;

    /** The way to the server of tokens: TLS that is verified. */
    interface TokenServer {
        Duplex connect(Destination.Named to) throws IOException;
    }

    private record Answer(
            @JsonProperty("access_token") @Nullable String accessToken,
            @JsonProperty("token_type") @Nullable String tokenType,
            @JsonProperty("expires_in") @Nullable Long expiresIn) {
        @Override
        public String toString() {
            return "Answer";
        }
    }

    /**
     * A token that is not there yet.
     *
     * @param client {@code CLIENT_ID:SECRET}
     * @param learned is told of each token, before it is used
     */
    OauthToken(
            SecretSlot slot,
            String client,
            TokenServer server,
            Clock clock,
            Consumer<String> learned) {
        this.slot = slot;
        this.client = client;
        this.server = server;
        this.clock = clock;
        this.learned = learned;
    }

    /** The token of now. */
    String value() throws IOException {
        lock.lock();
        try {
            if (!clock.instant().isBefore(until)) {
                fetch();
            }
            return token;
        } finally {
            lock.unlock();
        }
    }

    private void fetch() throws IOException {
        URI url = url();
        int port = url.getPort() < 0 ? 443 : url.getPort();
        Destination.Named to = new Destination.Named(HostName.of(url.getHost()), port);
        Duplex connection = server.connect(to);
        try (Watchdog _ = Watchdog.after(PATIENCE, connection)) {
            Upstream.Reply reply = ask(new Http1Upstream(connection), url, to);
            byte[] body = Bodies.whole(reply.body(), MAX_ANSWER);
            if (reply.head().status() != 200) {
                throw new IOException("The token server answered " + reply.head().status() + ".");
            }
            keep(read(body));
        } finally {
            connection.close();
        }
    }

    private Upstream.Reply ask(Upstream upstream, URI url, Destination.Named to)
            throws IOException {
        StringBuilder form = new StringBuilder("grant_type=client_credentials");
        if (!slot.scopes().isEmpty()) {
            form.append("&scope=").append(Queries.encode(String.join(" ", slot.scopes())));
        }
        byte[] body = form.toString().getBytes(StandardCharsets.US_ASCII);
        Map<String, List<String>> headers = new LinkedHashMap<>();
        HttpHeaders.set(headers, "host", to.port() == 443 ? to.host().value() : to.toString());
        HttpHeaders.set(headers, "authorization", "Basic " + basic());
        HttpHeaders.set(headers, "accept", "application/json");
        HttpHeaders.set(headers, "accept-encoding", "identity");
        HttpHeaders.set(headers, "content-type", "application/x-www-form-urlencoded");
        String path =
                url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        String target = url.getRawQuery() == null ? path : path + "?" + url.getRawQuery();
        return upstream.send(
                new RequestHead("POST", target, headers), Bodies.of(body), interim -> {});
    }

    // Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
    private String basic() {
        int colon = client.indexOf(':');
        String id = colon < 0 ? client : client.substring(0, colon);
        String secret = colon < 0 ? "" : client.substring(colon + 1);
        String pair = Queries.encode(id) + ":" + Queries.encode(secret);
        return Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.US_ASCII));
    }

    private void keep(Answer answer) throws IOException {
        String got = answer.accessToken;
        if (got == null || got.isEmpty() || !HttpHeaders.isValue(got)) {
            throw new IOException("The token server gave no token.");
        }
        if (answer.tokenType != null && !answer.tokenType.equalsIgnoreCase("bearer")) {
            throw new IOException("The token server gave a token that is no bearer token.");
        }
        learned.accept(got);
        token = got;
        Duration life =
                answer.expiresIn == null
                        ? DEFAULT_LIFE
                        : Duration.ofSeconds(Math.clamp(answer.expiresIn, 0, 86_400));
        until = clock.instant().plus(life).minus(RESERVE);
    }

    private static Answer read(byte[] body) throws IOException {
        try {
            return Json.LENIENT.readValue(body, Answer.class);
        } catch (JacksonException e) {
            // Its message may hold a piece of the answer.
            throw new IOException("The token server did not answer in JSON.");
        }
    }

    private URI url() throws IOException {
        try {
            URI url = new URI(slot.tokenUrl() == null ? "" : slot.tokenUrl());
            if (!"https".equals(url.getScheme())
                    || url.getHost() == null
                    || url.getRawUserInfo() != null) {
                throw new IOException("The tokenUrl is no https address.");
            }
            return url;
        } catch (URISyntaxException e) {
            throw new IOException("The tokenUrl is no https address.", e);
        }
    }
}
