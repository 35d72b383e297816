package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class WebhooksTest {
    private static final WebhookConfig CONFIG =
            new WebhookConfig(
                    true,
                    Duration.ofSeconds(2),
                    4,
                    List.of(Duration.ofSeconds(5), Duration.ofSeconds(30)),
                    Duration.ofHours(1));

    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Caller a = fixture.tenant(admin, "a", null);
    private final List<TinyServer.Request> got = new CopyOnWriteArrayList<>();
    private final AtomicInteger status = new AtomicInteger(204);
    private final TinyServer receiver;
    private final Webhooks webhooks = webhooks(fixture, CONFIG);
    private final Deliveries deliveries = deliveries(fixture, CONFIG);

    WebhooksTest() throws IOException {
        receiver =
                new TinyServer(request -> {
                    got.add(request);
                    return TinyServer.status(status.get());
                });
    }

    @AfterEach
    void close() throws IOException {
        deliveries.close();
        receiver.close();
    }

    private static Webhooks webhooks(Fixture server, WebhookConfig config) {
        return new Webhooks(server.ledger, server.cursors, server.vault, config);
    }

    private static Deliveries deliveries(Fixture server, WebhookConfig config) {
        Courier courier =
                new Courier(
                        config.privateAddresses(),
                        config.timeout(),
                        () -> (SSLSocketFactory) SSLSocketFactory.getDefault());
        return new Deliveries(server.ledger, server.vault, config, courier);
    }

    private WebhookJson hook(String... types) {
        return webhooks.create(
                a, new WebhookRequest(receiver.url("/hook?x=1").toString(), List.of(types), null));
    }

    private void happen(int times) {
        for (int i = 0; i < times; i++) {
            fixture.ledger.write(tx -> {
                Ledger.Subject about = Ledger.Subject.tenant(a.tenant());
                fixture.ledger.event(tx, EventType.LIMIT_HIT, about, "test", Map.of());
                return true;
            });
        }
    }

    private List<Long> seqs() {
        return got.stream()
                .map(request -> Json.read(request.body(), EventJson.class).seq())
                .toList();
    }

    @Test
    void deliversInOrderAndSigned() {
        WebhookJson hook = hook();
        happen(5);
        deliveries.deliver(hook.id());
        long last = fixture.events(a.tenant()).size();
        assertThat(seqs())
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(hook.cursor() + 1, last).boxed().toList());
        TinyServer.Request first = got.getFirst();
        assertThat(first.line()).isEqualTo("POST /hook?x=1 HTTP/1.1");
        String signature = String.valueOf(first.headers().get("caisson-signature"));
        Instant time =
                Instant.ofEpochSecond(
                        Long.parseLong(signature.substring(2, signature.indexOf(','))));
        assertThat(signature)
                .isEqualTo(
                        Signatures.of(
                                Objects.requireNonNull(hook.secret()),
                                time,
                                first.body().getBytes(StandardCharsets.UTF_8)));
        WebhookJson found = webhooks.find(a, hook.id());
        assertThat(found.cursor()).isEqualTo(last);
        assertThat(found.secret()).isNull();
        assertThat(fixture.store.read(tx -> tx.find(Kind.WEBHOOK, hook.id()).orElseThrow()).body())
                .doesNotContain(hook.secret());
    }

    @Test
    void deliversInTheBackgroundWithinASecond() {
        hook("limit");
        deliveries.start();
        happen(60);
        await().atMost(Duration.ofSeconds(10)).until(() -> got.size() == 60);
        assertThat(seqs()).isSorted();
    }

    @Test
    void oneServerDeliversAtATime() throws Exception {
        WebhookJson hook = hook("limit");
        Deliveries two = deliveries(fixture.server("two"), CONFIG);
        happen(30);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 6; i++) {
                Deliveries one = i % 2 == 0 ? deliveries : two;
                threads.execute(() -> one.deliver(hook.id()));
            }
        }
        deliveries.deliver(hook.id());
        assertThat(seqs()).hasSize(30).isSorted().doesNotHaveDuplicates();
    }

    @Test
    void retriesWithBackoffThenGivesUpVisibly() {
        WebhookJson hook = hook("limit");
        happen(2);
        status.set(500);
        deliveries.deliver(hook.id());
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(1);
        assertThat(webhooks.find(a, hook.id()).state()).isEqualTo("failing");
        fixture.clock.advance(Duration.ofSeconds(5));
        deliveries.deliver(hook.id());
        fixture.clock.advance(Duration.ofSeconds(30));
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(3);
        assertThat(seqs()).containsOnly(seqs().getFirst());
        WebhookJson failing = webhooks.find(a, hook.id());
        assertThat(failing.deadLetters()).isEqualTo(1);
        assertThat(failing.lastError()).isEqualTo("status 500");
        assertThat(webhooks.deadLetters(a, hook.id()))
                .extracting(EventJson::seq)
                .containsExactly(seqs().getFirst());
        assertThat(fixture.types(a.tenant())).contains("webhook.failed");
        status.set(200);
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(4);
        assertThat(webhooks.find(a, hook.id()).state()).isEqualTo("active");
        WebhookJson replayed = webhooks.replay(a, hook.id(), hook.cursor());
        assertThat(replayed.deadLetters()).isZero();
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(6);
    }

    @Test
    void isDisabledAfterALongTime() {
        WebhookJson hook = hook("limit");
        status.set(302);
        happen(3);
        for (int i = 0; i < 3; i++) {
            deliveries.deliver(hook.id());
            fixture.clock.advance(Duration.ofHours(1));
        }
        assertThat(webhooks.find(a, hook.id()).state()).isEqualTo("disabled");
        int before = got.size();
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(before);
        status.set(200);
        assertThat(webhooks.replay(a, hook.id(), hook.cursor()).state()).isEqualTo("active");
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(before + 3);
    }

    @Test
    void crashBeforeTheCursorIsWrittenDeliversAgain() {
        WebhookJson hook = hook("limit");
        happen(1);
        AtomicInteger writes = new AtomicInteger();
        Runnable[] crash = new Runnable[1];
        crash[0] =
                () -> {
                    if (writes.getAndIncrement() > 0) {
                        throw new IllegalStateException("crash");
                    }
                    fixture.store.beforeNextCommit(crash[0]);
                };
        fixture.store.beforeNextCommit(crash[0]);
        assertThat(thrown(() -> deliveries.deliver(hook.id())))
                .isInstanceOf(IllegalStateException.class);
        fixture.clock.advance(Duration.ofMinutes(1));
        deliveries.deliver(hook.id());
        assertThat(got).hasSize(2);
    }

    private static @Nullable Throwable thrown(Runnable call) {
        return catchThrowable(call::run);
    }

    @Test
    void privateAddressesAreRefusedByDefault() throws Exception {
        WebhookConfig strict = WebhookConfig.defaults();
        Webhooks careful = webhooks(fixture, strict);
        for (String url :
                List.of(
                        "http://127.0.0.1/",
                        "http://[::1]/",
                        "http://169.254.169.254/latest",
                        "http://10.1.2.3:8080/",
                        "http://localhost/",
                        "http://[64:ff9b::a00:1]/",
                        "ftp://example.com/",
                        "https://user@example.com/",
                        "https://example.com/#x",
                        "//example.com",
                        "https:///x",
                        "not a url",
                        "https://exämple.com/")) {
            refused(
                    ErrorCode.INVALID,
                    () -> careful.create(a, new WebhookRequest(url, List.of(), null)));
        }
        // A name that says what is private is refused when it is called.
        Courier courier =
                new Courier(
                        false,
                        Duration.ofSeconds(2),
                        () -> (SSLSocketFactory) SSLSocketFactory.getDefault());
        assertThat(
                        thrown(() -> {
                            try {
                                courier.post(receiver.url("/"), Map.of(), new byte[0]);
                            } catch (IOException e) {
                                throw new UncheckedIOException(e);
                            }
                        }))
                .hasMessageContaining("not public");
        assertThat(got).isEmpty();
    }

    @Test
    void slowAndStrangeReceiversFailInTime() throws Exception {
        try (TinyServer strange =
                        new TinyServer(r -> "SSH-2.0\r\n".getBytes(StandardCharsets.US_ASCII));
                TinyServer slow =
                        new TinyServer(r -> {
                            sleep();
                            return TinyServer.status(200);
                        })) {
            Courier courier =
                    new Courier(
                            true,
                            Duration.ofMillis(300),
                            () -> (SSLSocketFactory) SSLSocketFactory.getDefault());
            assertThat(catchThrowable(() -> courier.post(strange.url("/"), Map.of(), new byte[1])))
                    .hasMessage("the answer is not HTTP");
            assertThat(catchThrowable(() -> courier.post(slow.url("/"), Map.of(), new byte[1])))
                    .hasMessage("no answer in time");
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(2000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void anotherTenantsWebhooksDoNotExist() {
        Caller b = fixture.tenant(admin, "b", null);
        String id = hook().id();
        refused(ErrorCode.NOT_FOUND, () -> webhooks.find(b, id));
        refused(ErrorCode.NOT_FOUND, () -> webhooks.delete(b, id));
        refused(ErrorCode.NOT_FOUND, () -> webhooks.replay(b, id, 0));
        refused(ErrorCode.NOT_FOUND, () -> webhooks.deadLetters(b, id));
        assertThat(webhooks.list(b, Listing.FIRST).items()).isEmpty();
        webhooks.delete(a, id);
        refused(ErrorCode.NOT_FOUND, () -> webhooks.find(a, id));
        Caller agent = fixture.caller(a, Role.AGENT);
        refused(
                ErrorCode.POLICY_DENIED,
                () ->
                        webhooks.create(
                                agent, new WebhookRequest("https://x.org/", List.of(), null)));
    }
}
