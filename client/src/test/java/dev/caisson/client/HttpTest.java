package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.testkit.StubServer;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HttpTest {
    private static final String ONE = "GET /v1/sandboxes/" + Forms.SB;

    private StubServer server;
    private ServiceClient client;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        client = ServiceClient.open(Forms.config(server));
    }

    @AfterEach
    void close() throws IOException {
        client.close();
        server.close();
    }

    private static CaissonException failure(Runnable call) {
        CaissonException failure = catchThrowableOfType(CaissonException.class, call::run);
        assertThat(failure).isNotNull();
        return failure;
    }

    @Test
    void sendsTheKeyAsAHeaderAndNeverInTheUrl() {
        server.on(ONE, Forms.sandbox("running"));

        assertThat(client.sandboxes().find(Forms.SB).state()).isEqualTo("running");

        StubServer.Request request = server.requests().getFirst();
        assertThat(request.header("authorization")).isEqualTo("Bearer caisson_" + "0".repeat(40));
        assertThat(request.path() + request.query()).doesNotContain("caisson_");
        assertThat(Forms.config(server).toString()).doesNotContain("caisson_");
    }

    @Test
    void asksForALinkThatLetsABrowserIn() {
        server.on(
                "POST /v1/sandboxes/" + Forms.SB + "/ports/80/links",
                "{\"url\":\"http://x/.caisson/links/y\",\"expiresAt\":\"2026-12-01T00:01:00Z\","
                        + "\"visitEndsAt\":\"2026-12-01T01:00:00Z\"}");

        PortLinkJson link = client.ports().link(Forms.SB, 80, new PortLinkRequest("/app", 60_000L));

        assertThat(link.url()).isEqualTo("http://x/.caisson/links/y");
        assertThat(link.visitEndsAt()).isAfter(link.expiresAt());
        assertThat(server.requests().getFirst().text())
                .contains("\"path\":\"/app\"", "\"expiresInMillis\":60000");
    }

    @Test
    void errorObjectsBecomeExceptionsWithAllTheySay() {
        server.on(ONE, (request, reply) -> reply.error(409, "sandbox_ended", "It has ended."));

        CaissonException failure = failure(() -> client.sandboxes().find(Forms.SB));

        assertThat(failure.code()).isEqualTo(ErrorCode.SANDBOX_ENDED);
        assertThat(failure.message()).isEqualTo("It has ended.");
        assertThat(failure.remedy()).isEqualTo("Do better.");
        assertThat(failure.requestId()).contains("rq1");
        assertThat(failure.details()).containsEntry("field", "x").containsEntry("allowed", "3");
    }

    @Test
    void codesOfNewerServersAreUnknownAndKept() {
        server.on(ONE, (request, reply) -> reply.error(400, "too_sunny", "No."));

        CaissonException failure = failure(() -> client.sandboxes().find(Forms.SB));

        assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN);
        assertThat(failure.details()).containsEntry("code", "too_sunny");
    }

    @Test
    void answersOfSomebodyElseAreToldByTheirStatus() {
        server.on(ONE, (request, reply) -> reply.json(404, "<html>no</html>"));

        assertThat(failure(() -> client.sandboxes().find(Forms.SB)).code())
                .isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void doesNotFollowRedirects() throws IOException {
        try (StubServer other = StubServer.open()) {
            server.on(
                    ONE,
                    (request, reply) ->
                            reply.json(307, "{}", "Location: " + other.url() + "/v1/sandboxes/x"));

            CaissonException failure = failure(() -> client.sandboxes().find(Forms.SB));

            assertThat(failure.remedy()).contains("Redirects are not followed");
            assertThat(other.requests()).isEmpty();
        }
    }

    @Test
    void refusesAnswersThatAreTooLarge() {
        ServiceClient small =
                ServiceClient.open(Forms.config(server).withAnswerLimit(ByteSize.ofKib(64)));
        server.on(
                ONE,
                (request, reply) -> {
                    reply.stream();
                    for (int i = 0; i < 1_000_000; i++) {
                        reply.chunk(
                                " "
                                        .repeat(64 << 10)
                                        .getBytes(java.nio.charset.StandardCharsets.US_ASCII));
                    }
                });

        try (small) {
            assertThat(failure(() -> small.sandboxes().find(Forms.SB)).code())
                    .isEqualTo(ErrorCode.TOO_LARGE);
        }
    }

    @Test
    void refusesWhatIsNoJsonOrTooDeep() {
        server.on(ONE, "{\"id\":");
        assertThat(failure(() -> client.sandboxes().find(Forms.SB)).code())
                .isEqualTo(ErrorCode.ENGINE_FAILED);

        server.on(ONE, "{\"labels\":" + "[".repeat(10_000) + "]".repeat(10_000) + "}");
        assertThat(failure(() -> client.sandboxes().find(Forms.SB)).code())
                .isEqualTo(ErrorCode.ENGINE_FAILED);
        assertThat(server.requests(ONE)).hasSize(2);
    }

    @Test
    void readsAgainWhatBrokeOff() {
        AtomicInteger times = new AtomicInteger();
        server.on(
                ONE,
                (request, reply) -> {
                    if (times.incrementAndGet() < 3) {
                        reply.head(200, "Content-Length: 5000");
                        reply.raw("{\"id\":\"sb");
                        reply.cut();
                    } else {
                        reply.json(200, Forms.sandbox("running"));
                    }
                });

        assertThat(client.sandboxes().find(Forms.SB).id()).isEqualTo(Forms.SB);
        assertThat(times).hasValue(3);
    }

    @Test
    void createsOnceWithTheSameKeyOverABrokenConnection() {
        AtomicInteger times = new AtomicInteger();
        server.on(
                "POST /v1/sandboxes",
                (request, reply) -> {
                    if (times.incrementAndGet() == 1) {
                        reply.cut();
                    } else {
                        reply.json(201, Forms.sandbox("running"));
                    }
                });

        SandboxJson made = client.sandboxes().create(SandboxRequest.defaults());
        client.sandboxes().create(SandboxRequest.defaults());

        List<String> keys =
                server.requests("POST /v1/sandboxes").stream()
                        .map(request -> request.header("idempotency-key"))
                        .toList();
        assertThat(made.id()).isEqualTo(Forms.SB);
        assertThat(keys).hasSize(3).allMatch(key -> key.matches("[0-9a-f]{32}"));
        assertThat(keys.get(0)).isEqualTo(keys.get(1)).isNotEqualTo(keys.get(2));
    }

    @Test
    void doesNotRepeatWhatMayHaveBeenDone() {
        String signal = "POST /v1/execs/" + Forms.EX + "/signal";
        server.on(signal, (request, reply) -> reply.cut());

        assertThat(failure(() -> client.execs().signal(Forms.EX, 2, false)).code())
                .isEqualTo(ErrorCode.ENGINE_FAILED);
        assertThat(server.requests(signal)).hasSize(1);
    }

    @Test
    void waitsAsLongAsTheServerSaysButNotForHours() {
        AtomicInteger times = new AtomicInteger();
        server.on(
                ONE,
                (request, reply) -> {
                    if (times.incrementAndGet() == 1) {
                        reply.error(429, "quota_exceeded", "Later.", "Retry-After: 0");
                    } else {
                        reply.json(200, Forms.sandbox("running"));
                    }
                });
        assertThat(client.sandboxes().find(Forms.SB).id()).isEqualTo(Forms.SB);

        String post = "POST /v1/sandboxes/" + Forms.SB + "/execs";
        server.on(
                post,
                (request, reply) -> reply.error(503, "no_capacity", "Full.", "Retry-After: 3600"));
        assertThat(
                        failure(() -> client.execs().start(Forms.SB, ExecRequest.of(List.of("x"))))
                                .code())
                .isEqualTo(ErrorCode.NO_CAPACITY);
        assertThat(server.requests(post)).hasSize(1);
    }

    @Test
    void givesUpOnServersThatSayNothing() {
        ServiceClient hasty =
                ServiceClient.open(
                        Forms.config(server)
                                .withTimeouts(
                                        Duration.ofSeconds(1),
                                        Duration.ofMillis(200),
                                        Duration.ofMillis(200)));
        String resume = "POST /v1/sandboxes/" + Forms.SB + "/resume";
        String pause = "POST /v1/sandboxes/" + Forms.SB + "/pause";
        server.on(resume, (request, reply) -> sleep());
        server.on(
                pause,
                (request, reply) -> {
                    reply.head(200, "Content-Length: 100");
                    reply.raw("{");
                    sleep();
                });

        try (hasty) {
            assertThat(failure(() -> hasty.sandboxes().resume(Forms.SB)).code())
                    .isEqualTo(ErrorCode.TIMEOUT);
            assertThat(
                            failure(() ->
                                            hasty.sandboxes()
                                                    .pause(
                                                            Forms.SB,
                                                            new dev.caisson.v1.PauseRequest(null)))
                                    .code())
                    .isEqualTo(ErrorCode.TIMEOUT);
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(3000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void idsStayOnePartOfThePath() {
        failure(() -> client.sandboxes().find("../keys?x=1#"));

        assertThat(server.requests().getFirst().path()).isEqualTo("/v1/sandboxes/../keys?x=1#");
        assertThat(server.requests().getFirst().query()).isEmpty();
        assertThat(failure(() -> client.sandboxes().find("..")).code())
                .isEqualTo(ErrorCode.INVALID);
        assertThat(server.requests()).hasSize(1);
    }

    @Test
    void putsListsTogetherAndRefusesEndlessOnes() {
        server.on(
                "GET /v1/sandboxes",
                (request, reply) ->
                        reply.json(
                                200,
                                "{\"items\":["
                                        + Forms.sandbox("running")
                                        + "]"
                                        + (request.query("cursor").isEmpty()
                                                ? ",\"nextCursor\":\"c1\"}"
                                                : "}")));
        assertThat(ServiceClient.all(Query.FIRST, client.sandboxes()::list)).hasSize(2);

        server.on("GET /v1/sandboxes", "{\"items\":[],\"nextCursor\":\"c1\"}");
        assertThat(failure(() -> ServiceClient.all(Query.FIRST, client.sandboxes()::list)).code())
                .isEqualTo(ErrorCode.ENGINE_FAILED);
    }

    @Test
    void tellsThatNobodyListens() throws IOException {
        try (Socket taken = new Socket()) {
            taken.bind(
                    new InetSocketAddress(
                            InetAddress.getLoopbackAddress(), 0)); // nobody else gets the port
            String url = "http://127.0.0.1:" + taken.getLocalPort();
            RemoteConfig config =
                    RemoteConfig.of(url, "caisson_" + "0".repeat(40)).withPatience(Duration.ZERO);
            try (ServiceClient nobody = ServiceClient.open(config)) {
                CaissonException failure = failure(() -> nobody.sandboxes().resume(Forms.SB));

                assertThat(failure.code()).isEqualTo(ErrorCode.ENGINE_FAILED);
                assertThat(failure.message()).contains(url);
                assertThat(failure.remedy()).isNotEmpty();
            }
        }
    }
}
