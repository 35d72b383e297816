package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Events of a real server on their way to somebody who listens, or does not. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
class WebhookDeliveryTest {
    private static final String SECRET = "only-for-this-test";

    /** Takes deliveries, and answers what a test wants. */
    private static final class Receiver implements AutoCloseable {
        private final HttpServer server;
        private final List<Delivery> came = new CopyOnWriteArrayList<>();

        record Delivery(String signature, String id, String body, int status) {
            JsonNode event() {
                return Json.LENIENT.readTree(body);
            }

            /** As a receiver checks it, from {@code docs/tenants.md}. */
            boolean signedWith(String secret) {
                String time = signature.substring(2, signature.indexOf(','));
                assertThat(Long.parseLong(time))
                        .isCloseTo(
                                Instant.now().getEpochSecond(),
                                org.assertj.core.data.Offset.offset(60L));
                return signature.equals("t=" + time + ",v1=" + hmac(secret, time + "." + body));
            }
        }

        Receiver(IntSupplier status) throws IOException {
            server =
                    HttpServer.create(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
            server.createContext(
                    "/",
                    exchange -> {
                        String body =
                                new String(
                                        exchange.getRequestBody().readAllBytes(),
                                        StandardCharsets.UTF_8);
                        var headers = exchange.getRequestHeaders();
                        int answer = status.getAsInt();
                        came.add(
                                new Delivery(
                                        headers.getFirst("Caisson-Signature"),
                                        headers.getFirst("Caisson-Event"),
                                        body,
                                        answer));
                        exchange.sendResponseHeaders(answer, -1);
                        exchange.close();
                    });
            server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
            server.start();
        }

        String url() {
            return "http://127.0.0.1:" + server.getAddress().getPort() + "/hook";
        }

        List<Long> taken() {
            return came.stream()
                    .filter(one -> one.status() < 300)
                    .map(one -> one.event().path("seq").asLong())
                    .toList();
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    private static LiveService service;

    @BeforeAll
    static void start() {
        service = LiveService.start("webhooks.private=true", "webhooks.backoff=200ms,300ms");
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
    }

    private static String hmac(String secret, String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A tenant of its own, so that events of other tests are not delivered. */
    private static Api tenant(String name) {
        Api home = service.admin();
        String id = home.post("/v1/tenants", Map.of("name", name)).ok(201).path("id").asString();
        String key =
                home.with("Caisson-Tenant", id)
                        .post("/v1/keys", Map.of("role", "admin"))
                        .ok(201)
                        .path("key")
                        .asString();
        return service.api(key);
    }

    private static String hook(Api api, Receiver receiver) {
        return api.post(
                        "/v1/webhooks",
                        Map.of(
                                "url",
                                receiver.url(),
                                "types",
                                List.of("sandbox", "exec.ended"),
                                "secret",
                                SECRET))
                .ok(201)
                .path("id")
                .asString();
    }

    /** Seqs of the events that a webhook of those types is told. */
    private static List<Long> wanted(Api api, String since) {
        return api.events().stream()
                .dropWhile(event -> !since.equals(event.path("data").path("webhook").asString("")))
                .filter(event -> {
                    String type = event.path("type").asString();
                    return type.startsWith("sandbox.") || type.equals("exec.ended");
                })
                .map(event -> event.path("seq").asLong())
                .toList();
    }

    private static void life(Api api) {
        String id = api.sandbox(Map.of());
        api.sh(id, "echo hello");
        api.delete("/v1/sandboxes/" + id).ok();
    }

    @Test
    void signedInOrderAndAgainAfterARefusal() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        // The third is refused at its first attempt.
        try (Receiver receiver = new Receiver(() -> asked.incrementAndGet() == 3 ? 500 : 204)) {
            Api api = tenant("in-order");
            String hook = hook(api, receiver);
            for (int i = 0; i < 3; i++) {
                life(api);
            }
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(receiver.taken()).isEqualTo(wanted(api, hook)));
            assertThat(receiver.came.get(2).status()).isEqualTo(500);
            assertThat(receiver.came.get(3).id()).isEqualTo(receiver.came.get(2).id());
            assertThat(receiver.came).allMatch(one -> one.signedWith(SECRET));
            // The control: another secret, or another text, and it is not signed.
            assertThat(receiver.came.getFirst().signedWith(SECRET + "?")).isFalse();
            Receiver.Delivery first = receiver.came.getFirst();
            assertThat(
                            new Receiver.Delivery(
                                            first.signature(), first.id(), first.body() + " ", 204)
                                    .signedWith(SECRET))
                    .isFalse();
            assertThat(api.events()).contains(first.event());
            JsonNode told = api.get("/v1/webhooks/" + hook).ok();
            assertThat(told.path("state").asString()).isEqualTo("active");
            assertThat(told.path("deadLetters").asLong()).isZero();
        }
    }

    @Test
    void whatIsNeverTakenIsADeadLetterAndMayBeReplayed() throws Exception {
        AtomicInteger status = new AtomicInteger(500);
        try (Receiver receiver = new Receiver(status::get)) {
            Api api = tenant("dead");
            String hook = hook(api, receiver);
            String path = "/v1/webhooks/" + hook;
            life(api);
            List<Long> wanted = wanted(api, hook);
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> api.get(path).ok().path("deadLetters").asLong() == wanted.size());
            assertThat(receiver.taken()).isEmpty();
            assertThat(receiver.came).hasSize(3 * wanted.size()); // each three times
            assertThat(api.get(path).ok().path("lastError").asString()).contains("500");
            List<Long> dead =
                    api.get(path + "/dead-letters")
                            .ok()
                            .path("items")
                            .valueStream()
                            .map(event -> event.path("seq").asLong())
                            .toList();
            assertThat(dead).isEqualTo(wanted);
            assertThat(api.events())
                    .anyMatch(event -> event.path("type").asString().equals("webhook.failed"));
            status.set(200);
            api.post(path + "/replay", Map.of("afterSeq", wanted.getFirst() - 1)).ok();
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(receiver.taken()).isEqualTo(wanted));
        }
    }

    @Test
    void whatHappenedWhileTheServerWasAwayIsDelivered() throws Exception {
        AtomicBoolean silent = new AtomicBoolean(true);
        try (Receiver receiver = new Receiver(() -> answer(silent))) {
            Api api = tenant("away");
            String hook = hook(api, receiver);
            String id = api.sandbox(Map.of());
            service.killServer();
            silent.set(false);
            service.startServer();
            api.delete("/v1/sandboxes/" + id).ok();
            List<Long> wanted = wanted(api, hook);
            // What was on its way is another server's for a minute: only then is it taken up.
            await().atMost(Duration.ofSeconds(80))
                    .untilAsserted(() -> assertThat(receiver.taken()).containsAll(wanted));
            // At least once, and in order.
            assertThat(receiver.taken().stream().distinct().toList()).isEqualTo(wanted);
        }
    }

    /** Nothing for a while: whoever asked is dead by then. */
    private static int answer(AtomicBoolean silent) {
        if (silent.get()) {
            LiveService.pause(3000);
            return 503;
        }
        return 200;
    }
}
