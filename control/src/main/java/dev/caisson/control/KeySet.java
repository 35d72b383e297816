package dev.caisson.control;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The public keys of an issuer. Nothing is fetched before the first token comes; then they are kept
 * for five minutes, fetched again for a key id that is not known (at most every 30 s), and an old
 * set is good for a day while the issuer does not answer. Thread-safe.
 */
final class KeySet {
    private static final Logger LOG = LoggerFactory.getLogger(KeySet.class);
    private static final Duration FRESH = Duration.ofMinutes(5);
    private static final Duration AGAIN = Duration.ofSeconds(30);
    private static final Duration STALE = Duration.ofDays(1);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_BYTES = 256 << 10;

    private final URI source;
    private final Supplier<Instant> now;
    private final HttpClient http =
            HttpClient.newBuilder()
                    .connectTimeout(TIMEOUT)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .build();

    /** Guarded by this, which is held while keys are fetched: one fetch at a time. */
    private List<JWK> keys = List.of();

    private @Nullable Instant fetched;
    private @Nullable Instant tried;

    KeySet(URI source, Supplier<Instant> now) {
        this.source = source;
        this.now = now;
    }

    /** The keys of an id, or all when the token names none. */
    synchronized List<JWK> find(@Nullable String id) {
        Instant at = now.get();
        if (older(fetched, FRESH, at) && older(tried, AGAIN, at)) {
            fetch(at);
        }
        List<JWK> found = matching(id);
        if (found.isEmpty() && older(tried, AGAIN, at)) {
            fetch(at);
            found = matching(id);
        }
        return older(fetched, STALE, at) ? List.of() : found;
    }

    private List<JWK> matching(@Nullable String id) {
        return id == null ? keys : keys.stream().filter(key -> id.equals(key.getKeyID())).toList();
    }

    private static boolean older(@Nullable Instant then, Duration than, Instant at) {
        return then == null || at.isBefore(then) || !at.isBefore(then.plus(than));
    }

    private void fetch(Instant at) {
        tried = at;
        try {
            keys = JWKSet.parse(read()).toPublicJWKSet().getKeys();
            fetched = at;
        } catch (IOException | ParseException e) {
            LOG.atWarn()
                    .addKeyValue("source", source)
                    .setCause(e)
                    .log("The keys for bearer tokens cannot be read");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private String read() throws IOException, InterruptedException {
        if ("file".equals(source.getScheme())) {
            try (InputStream in = Files.newInputStream(Path.of(source))) {
                return limited(in);
            }
        }
        HttpRequest request = HttpRequest.newBuilder(source).timeout(TIMEOUT).build();
        HttpResponse<InputStream> answer =
                http.send(request, HttpResponse.BodyHandlers.ofInputStream());
        try (InputStream in = answer.body()) {
            if (answer.statusCode() != 200) {
                throw new IOException("status " + answer.statusCode());
            }
            return limited(in);
        }
    }

    private static String limited(InputStream in) throws IOException {
        byte[] bytes = in.readNBytes(MAX_BYTES + 1);
        if (bytes.length > MAX_BYTES) {
            throw new IOException("more than " + MAX_BYTES + " bytes");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
