package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.HttpRule;
import java.io.InputStream;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class Http2InterceptTest {
    private InterceptFixture fixture;
    private HttpClient client;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
        Front front = fixture.front(Scheme.HTTPS, true);
        client =
                HttpClient.newBuilder()
                        .proxy(ProxySelector.of(front.address()))
                        .version(HttpClient.Version.HTTP_2)
                        .sslContext(TestCa.client(fixture.session.authority.certificates()))
                        .build();
    }

    @AfterEach
    void close() throws Exception {
        client.shutdownNow();
        fixture.close();
    }

    @Test
    void speaksTwoInsideAndOneOutside() throws Exception {
        RawServer server = fixture.server(echo());
        HttpResponse<String> answer = post("/x?y=z", "body");
        assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
        assertThat(answer.body()).isEqualTo("body");
        assertThat(server.heads.getFirst())
                .startsWith("POST /x?y=z HTTP/1.1\r\n")
                .contains("Host: api.example.org\r\n", "Content-Length: 4\r\n");
    }

    @Test
    void speaksTwoOnBothSides() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            HttpResponse<String> answer = post("/x?y=%20z", "body");
            assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_2);
            assertThat(answer.body()).isEqualTo("body");
            assertThat(server.heads).containsExactly("POST https://api.example.org/x?y=%20z");
        }
    }

    @Test
    void carriesManyAtOnceOverOneConnection() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            // Before the first answer the client opens a connection for each request.
            post("/first", "x");
            List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                all.add(
                        client.sendAsync(
                                request("/n" + i)
                                        .POST(HttpRequest.BodyPublishers.ofString("b" + i))
                                        .build(),
                                HttpResponse.BodyHandlers.ofString()));
            }
            for (int i = 0; i < 60; i++) {
                assertThat(all.get(i).get().body()).isEqualTo("b" + i);
            }
            assertThat(fixture.session.dials).hasValue(1);
        }
    }

    @Test
    void deniesByRuleAndGoesOn() throws Exception {
        RawServer server = fixture.server(echo());
        fixture.session.policy =
                FakeSession.allowing(
                        List.of(new HttpRule("allow", List.of("POST"), "/open/*", Map.of())));
        HttpResponse<String> refused = post("/closed?x=y", "body");
        assertThat(refused.statusCode()).isEqualTo(403);
        assertThat(refused.headers().firstValue("caisson-denied")).isPresent();
        assertThat(post("/open/x", "body").body()).isEqualTo("body");
        assertThat(server.heads).hasSize(1);
        assertThat(fixture.session.denied)
                .singleElement()
                .asString()
                .startsWith("egress POST https://api.example.org/closed [");
    }

    @Test
    void streamsALargeBodyBothWays() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            long size = 8L << 20;
            HttpResponse<InputStream> answer =
                    client.send(
                            request("/big")
                                    .POST(
                                            HttpRequest.BodyPublishers.ofInputStream(
                                                    () -> new Zeros(size)))
                                    .build(),
                            HttpResponse.BodyHandlers.ofInputStream());
            long count = 0;
            byte[] buffer = new byte[64 << 10];
            try (InputStream in = answer.body()) {
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    count += n;
                }
            }
            assertThat(count).isEqualTo(size);
        }
    }

    @Test
    void aBrokenAnswerIsBrokenInsideToo() throws Exception {
        fixture.server((head, in, out) -> {
            out.write(
                    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
                            .getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            return false;
        });
        assertThat(catchThrowable(() -> post("/x", "body")))
                .isInstanceOf(java.io.IOException.class);
    }

    @Test
    void putsACredentialInAndTakesItOutOfTheAnswer() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            fixture.grant(dev.caisson.v1.SecretSlot.bearer());
            HttpResponse<String> answer =
                    client.send(
                            request("/echo-authorization")
                                    .header(
                                            "Authorization",
                                            "Bearer " + InterceptFixture.PLACEHOLDER)
                                    .GET()
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(server.authorizations).containsExactly("Bearer " + InterceptFixture.SECRET);
            assertThat(answer.body()).startsWith("Bearer ").doesNotContain(InterceptFixture.SECRET);
        }
    }

    @Test
    void answersWithoutBodiesStayWithout() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            for (int i = 0; i < 50; i++) {
                HttpResponse<String> answer =
                        client.send(
                                request("/204").GET().build(),
                                HttpResponse.BodyHandlers.ofString());
                assertThat(answer.statusCode()).isEqualTo(204);
            }
        }
    }

    @Test
    void trailersPass() throws Exception {
        try (Http2Server server = new Http2Server(fixture.ca.server("api.example.org"))) {
            fixture.session.port = server.port();
            // The Java client does not show trailers: the test's own peer does.
            for (int i = 0; i < 20; i++) {
                Map<String, List<String>> trailers =
                        Http2Server.trailersThrough(fixture, "/trailers");
                assertThat(trailers).containsEntry("grpc-status", List.of("0"));
            }
        }
    }

    @Test
    void moreRequestsThanThereIsRoomForAreRefusedAndNeverReachTheServer() throws Exception {
        CountDownLatch answer = new CountDownLatch(1);
        RawServer server =
                fixture.server((head, in, out) -> {
                    try {
                        answer.await();
                    } catch (InterruptedException e) {
                        return false;
                    }
                    return RawServer.text("late").serve(head, in, out);
                });
        // Room for two of them, and never for one with many fields.
        Front crowded = fixture.front(new ServingRoom(1 << 20, 40 << 10));
        try (Upstream peer = Http2Server.peer(fixture, crowded)) {
            Map<String, List<String>> many = new LinkedHashMap<>();
            for (int i = 0; i < 150; i++) {
                many.put("x" + i, List.of(""));
            }
            assertThat(catchThrowable(() -> ask(peer, "/many", many)))
                    .hasMessageContaining("The server reset the stream");
            List<CompletableFuture<String>> all = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                String path = "/n" + i;
                CompletableFuture<String> one = new CompletableFuture<>();
                all.add(one);
                Thread.ofVirtual()
                        .start(() -> {
                            try {
                                one.complete(ask(peer, path, Map.of()));
                            } catch (java.io.IOException e) {
                                one.complete("refused");
                            }
                        });
            }
            await().until(() -> all.stream().filter(CompletableFuture::isDone).count() == 4);
            answer.countDown();
            assertThat(all.stream().map(CompletableFuture::join).sorted().toList())
                    .containsExactly("late", "late", "refused", "refused", "refused", "refused");
            assertThat(server.heads).hasSize(2);
            assertThat(fixture.session.denied)
                    .containsOnly("egress api.example.org:443 [requests at once]");
            // What they took was given back.
            await().ignoreExceptions()
                    .untilAsserted(
                            () -> assertThat(ask(peer, "/after", Map.of())).isEqualTo("late"));
        } finally {
            answer.countDown();
        }
    }

    private static String ask(Upstream peer, String path, Map<String, List<String>> fields)
            throws java.io.IOException {
        HttpBody body =
                peer.send(new RequestHead("GET", path, fields), HttpBody.EMPTY, interim -> {})
                        .body();
        return new String(Bodies.whole(body, 1 << 10), java.nio.charset.StandardCharsets.UTF_8);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("https://api.example.org" + path));
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        return client.send(
                request(path).POST(HttpRequest.BodyPublishers.ofString(body)).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static RawServer.Handler echo() {
        return (head, in, out) -> {
            byte[] body = in.readNBytes(Http1InterceptTest.length(head));
            return RawServer.text(new String(body, java.nio.charset.StandardCharsets.UTF_8))
                    .serve(head, in, out);
        };
    }
}
