package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.HttpRule;
import java.io.InputStream;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
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
