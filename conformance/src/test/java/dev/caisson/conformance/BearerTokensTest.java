package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.RSAPublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Bearer tokens of an issuer, whose keys a real server fetches over HTTP. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
class BearerTokensTest {
    private static final String NAME = "https://issuer.example";

    /** Somebody who signs tokens and publishes keys. */
    private static final class Issuer implements AutoCloseable {
        private final HttpServer server;
        private final AtomicInteger fetched = new AtomicInteger();
        private volatile KeyPair keys = pair();
        private volatile String keyId = "first";

        Issuer() throws IOException {
            server =
                    HttpServer.create(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
            server.createContext(
                    "/jwks",
                    exchange -> {
                        fetched.incrementAndGet();
                        byte[] body = Json.bytes(Map.of("keys", List.of(published())));
                        exchange.sendResponseHeaders(200, body.length);
                        exchange.getResponseBody().write(body);
                        exchange.close();
                    });
            server.start();
        }

        static KeyPair pair() {
            try {
                KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
                generator.initialize(2048);
                return generator.generateKeyPair();
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }

        /** RFC 7517. */
        private Map<String, String> published() {
            RSAPublicKey key = (RSAPublicKey) keys.getPublic();
            return Map.of(
                    "kty",
                    "RSA",
                    "kid",
                    keyId,
                    "use",
                    "sig",
                    "n",
                    number(key.getModulus()),
                    "e",
                    number(key.getPublicExponent()));
        }

        private static String number(BigInteger value) {
            byte[] bytes = value.toByteArray();
            int from = bytes[0] == 0 ? 1 : 0;
            return encoded(java.util.Arrays.copyOfRange(bytes, from, bytes.length));
        }

        void rotate() {
            keys = pair();
            keyId = "second";
        }

        /** RFC 7519 and 7515, section 3.1. */
        String token(String algorithm, Map<String, Object> claims) {
            String input =
                    encoded(Json.bytes(Map.of("alg", algorithm, "kid", keyId, "typ", "JWT")))
                            + "."
                            + encoded(Json.bytes(claims));
            if (algorithm.equals("none")) {
                return input + ".";
            }
            try {
                Signature signature = Signature.getInstance("SHA256withRSA");
                signature.initSign(keys.getPrivate());
                signature.update(input.getBytes(StandardCharsets.US_ASCII));
                return input + "." + encoded(signature.sign());
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    private static Issuer issuer;
    private static LiveService service;

    @BeforeAll
    static void start() throws IOException {
        Lab.needsSandboxes();
        issuer = new Issuer();
        service =
                LiveService.start(
                        "oidc.issuer=" + NAME,
                        "oidc.audience=caisson",
                        "oidc.keys=http://127.0.0.1:"
                                + issuer.server.getAddress().getPort()
                                + "/jwks",
                        "oidc.tenants=ops=default,team-a=a",
                        "oidc.roles=boss=admin,dev=agent,eyes=auditor");
        service.admin().post("/v1/tenants", Map.of("name", "a")).ok(201);
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
        if (issuer != null) {
            issuer.close();
        }
    }

    private static String encoded(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static Map<String, Object> claims(String tenant, String role) {
        long now = Instant.now().getEpochSecond();
        return Map.of(
                "iss", NAME,
                "aud", List.of("other", "caisson"),
                "sub", "somebody",
                "tenant", tenant,
                "role", role,
                "iat", now,
                "exp", now + 300);
    }

    private static Map<String, Object> claims(String name, Object value) {
        Map<String, Object> changed = new LinkedHashMap<>(claims("team-a", "dev"));
        changed.put(name, value);
        return changed;
    }

    private static Api with(Map<String, Object> claims) {
        return service.api(issuer.token("RS256", claims));
    }

    private static void refused(String why, Api api) {
        Api.Answer answer = api.get("/v1/info");
        assertThat(answer.status()).as(why).isEqualTo(401);
        assertThat(answer.code()).as(why).isEqualTo("unauthenticated");
    }

    @Test
    void claimsChooseTenantAndRole() {
        Api dev = with(claims("team-a", "dev"));
        String id = dev.sandbox(Map.of());
        assertThat(dev.out(id, "echo of-a-token")).isEqualTo("of-a-token\n");
        // It is of tenant a, not of the server's own.
        assertThat(service.admin().get("/v1/sandboxes/" + id).status()).isEqualTo(404);
        assertThat(dev.post("/v1/keys", Map.of("role", "agent")).status()).isEqualTo(403);
        Api eyes = with(claims("team-a", "eyes"));
        assertThat(eyes.post("/v1/sandboxes", Map.of()).status()).isEqualTo(403);
        JsonNode created =
                eyes.events().stream()
                        .filter(event -> event.path("type").asString().equals("sandbox.created"))
                        .findFirst()
                        .orElseThrow();
        assertThat(created.path("actor").path("keyId").asString()).startsWith("oidc-");
        assertThat(created.path("actor").path("subject").asString()).isEqualTo("somebody");
        Api boss = with(claims("ops", "boss"));
        assertThat(boss.get("/v1/tenants").status()).isEqualTo(200);
        assertThat(dev.get("/v1/tenants").status()).isEqualTo(403);
        dev.delete("/v1/sandboxes/" + id).ok();
    }

    @Test
    void whatIsNotForThisServerIsRefused() {
        long now = Instant.now().getEpochSecond();
        refused("audience", with(claims("aud", "other")));
        refused("issuer", with(claims("iss", NAME + "/")));
        refused("expired", with(claims("exp", now - 120)));
        refused("not yet", with(claims("nbf", now + 120)));
        refused("tenant", with(claims("tenant", "default")));
        refused("role", with(claims("role", "admin")));
        refused("none", service.api(issuer.token("none", claims("team-a", "dev"))));
        String good = issuer.token("RS256", claims("team-a", "dev"));
        String other = issuer.token("RS256", claims("ops", "boss"));
        refused("unsigned", service.api(good.substring(0, good.lastIndexOf('.') + 1)));
        refused(
                "another's signature",
                service.api(
                        other.substring(0, other.lastIndexOf('.'))
                                + good.substring(good.lastIndexOf('.'))));
        // The control: the same with nothing changed.
        assertThat(service.api(good).get("/v1/info").status()).isEqualTo(200);
    }

    @Test
    void keysOfTheIssuerMayChange() throws Exception {
        try (Issuer changing = new Issuer();
                LiveService other =
                        LiveService.start(
                                "oidc.issuer=" + NAME,
                                "oidc.audience=caisson",
                                "oidc.keys=http://127.0.0.1:"
                                        + changing.server.getAddress().getPort()
                                        + "/jwks",
                                "oidc.tenants=ops=default",
                                "oidc.roles=dev=agent")) {
            assertThat(changing.fetched).hasValue(0);
            Api before = other.api(changing.token("RS256", claims("ops", "dev")));
            assertThat(before.get("/v1/info").status()).isEqualTo(200);
            assertThat(before.get("/v1/info").status()).isEqualTo(200);
            assertThat(changing.fetched).hasValue(1);
            changing.rotate();
            Api after = other.api(changing.token("RS256", claims("ops", "dev")));
            // An unknown key makes it look again, at most twice a minute.
            await().atMost(Duration.ofSeconds(60))
                    .pollInterval(Duration.ofMillis(500))
                    .until(() -> after.get("/v1/info").status() == 200);
            assertThat(changing.fetched).hasValue(2);
            refused("a key that is published no more", before);
        }
    }
}
