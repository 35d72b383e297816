package dev.caisson.egress;

import static dev.caisson.egress.InterceptFixture.PLACEHOLDER;
import static dev.caisson.egress.InterceptFixture.SECRET;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.Scheme;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import java.io.ByteArrayOutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The oracle is what arrived at the server. */
@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class SecretBrokerTest {
    private InterceptFixture fixture;
    private RawServer server;
    private Front front;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
        server =
                fixture.server((head, in, out) -> {
                    in.readNBytes(Http1InterceptTest.length(head));
                    return RawServer.text(head).serve(head, in, out);
                });
        front = fixture.front();
    }

    @AfterEach
    void close() throws Exception {
        fixture.close();
    }

    @Test
    void putsExactlyOneHeaderInAndTakesTheProgramsOwnAway() throws Exception {
        fixture.grant(SecretSlot.bearer());
        front.get(
                "/x",
                "Authorization: Bearer " + PLACEHOLDER,
                "authorization: Bearer mine",
                "AUTHORIZATION: Basic eDp5");
        assertThat(arrived()).containsOnlyOnce("Authorization: Bearer " + SECRET + "\r\n");
        assertThat(arrived()).doesNotContain("mine", "eDp5", PLACEHOLDER);
        assertThat(fixture.session.events)
                .containsExactly(
                        "secret.used {target=GET https://api.example.org/x, secret=token}");
    }

    @Test
    void takesAReflectedSecretOutOfAnswers() throws Exception {
        fixture.grant(SecretSlot.bearer());
        String answer = front.get("/x");
        assertThat(arrived()).contains(SECRET).contains("Accept-Encoding: identity");
        assertThat(answer).contains("Authorization: Bearer [redacted]").doesNotContain(SECRET);
    }

    @Test
    void takesItOutOfHeadersGzipAndPiecesAsWell() throws Exception {
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (GZIPOutputStream zip = new GZIPOutputStream(zipped)) {
            zip.write(("body " + SECRET + " end").getBytes(StandardCharsets.UTF_8));
        }
        fixture.server((head, in, out) -> {
            if (head.contains("/gzip")) {
                out.write(
                        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nSet-Cookie: a="
                                        + SECRET
                                        + "\r\nContent-Length: "
                                        + zipped.size()
                                        + "\r\n\r\n")
                                .getBytes(StandardCharsets.UTF_8));
                out.write(zipped.toByteArray());
                return true;
            }
            out.write(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                            .getBytes(StandardCharsets.UTF_8));
            for (byte b : ("x" + SECRET + "y").getBytes(StandardCharsets.UTF_8)) {
                out.write(new byte[] {'1', '\r', '\n', b, '\r', '\n'});
                out.flush();
            }
            out.write("0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
            return true;
        });
        fixture.grant(SecretSlot.bearer());
        assertThat(front.get("/gzip").replaceAll("\r\n[0-9a-f]+\r\n(?!\r)", ""))
                .contains("body [redacted] end", "Set-Cookie: a=[redacted]")
                .doesNotContain(SECRET, "gzip");
        assertThat(front.get("/pieces").replaceAll("\r\n[0-9a-f]+\r\n", ""))
                .contains("x[redacted]y");
    }

    @Test
    void refusesAnswersThatItCannotLookInto() throws Exception {
        fixture.server((head, in, out) -> {
            out.write(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"
                            .getBytes(StandardCharsets.UTF_8));
            return true;
        });
        assertThat(front.get("/")).startsWith("HTTP/1.1 200");
        fixture.grant(SecretSlot.bearer());
        assertThat(front.get("/")).startsWith("HTTP/1.1 502");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /p/" + PLACEHOLDER + " HTTP/1.1\r\n",
                "GET /?a=" + PLACEHOLDER + " HTTP/1.1\r\n",
                "GET /?a=csp%5F0123456789abcdef0123456789abcdef HTTP/1.1\r\n",
                "GET /?a=csp%255F0123456789abcdef0123456789abcdef HTTP/1.1\r\n",
                "GET / HTTP/1.1\r\nCookie: a=" + PLACEHOLDER + "\r\n",
                "GET / HTTP/1.1\r\nX-" + PLACEHOLDER + ": 1\r\n",
                "GET / HTTP/1.1\r\nX-A: Basic dTpjc3BfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
                        + "\r\n",
                "GET / HTTP/1.1\r\nAuthorization: csp_ffffffffffffffffffffffffffffffff\r\n",
                "GET / HTTP/1.1\r\nAuthorization: Basic"
                        + " dTpjc3BfZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY=\r\n"
            })
    void blocksAPlaceholderWhereItDoesNotBelong(String start) throws Exception {
        fixture.grant(SecretSlot.bearer());
        assertThat(front.raw(start + "Host: api.example.org\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 403")
                .contains("Caisson-Denied: secret placeholder");
        assertThat(server.heads).isEmpty();
        assertThat(fixture.session.denied).singleElement().asString().startsWith("secret ");
        assertThat(fixture.session.denied.getFirst()).doesNotContain("csp_");
        assertThat(fixture.session.events)
                .singleElement()
                .asString()
                .startsWith("secret.misused")
                .doesNotContain("csp_");
    }

    @Test
    void blocksAPlaceholderInABodyOfAnyLength() throws Exception {
        String padding = "a".repeat(3 << 20);
        for (String body : List.of(PLACEHOLDER, padding + PLACEHOLDER + padding)) {
            try (Socket socket = front.open()) {
                Http1InterceptTest.write(
                        socket,
                        "POST / HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: "
                                + body.length()
                                + "\r\n\r\n");
                Thread.ofVirtual()
                        .start(() -> {
                            try {
                                Http1InterceptTest.write(socket, body);
                            } catch (Exception e) {
                                // It was cut.
                            }
                        });
                assertThat(RawServer.head(socket.getInputStream())).startsWith("HTTP/1.1 403");
            }
        }
        assertThat(fixture.session.events)
                .hasSize(2)
                .allMatch(event -> event.startsWith("secret.misused"));
    }

    @Test
    void putsNothingInWhenTheHostThePathOrThePortIsAnother() throws Exception {
        fixture.session.broker.replace(
                List.of(InterceptFixture.secret(SecretSlot.bearer(), "/bound/*")));
        front.get("/other", "Authorization: own");
        assertThat(arrived()).contains("Authorization: own").doesNotContain(SECRET);
        assertThat(front.get("/other", "Authorization: Bearer " + PLACEHOLDER))
                .startsWith("HTTP/1.1 403");
        assertThat(front.get("/bound/x", "Authorization: Bearer " + PLACEHOLDER))
                .startsWith("HTTP/1.1 200");
        assertThat(server.heads.getLast()).contains(SECRET);
        assertThat(server.heads).hasSize(2);
    }

    @Test
    void putsNothingIntoPlainHttp() throws Exception {
        try (RawServer plain =
                new RawServer(javax.net.ServerSocketFactory.getDefault(), RawServer.text("ok"))) {
            fixture.session.broker.replace(
                    List.of(
                            new SecretGrant(
                                    "se1",
                                    "token",
                                    spec(80, SecretSlot.bearer()),
                                    SECRET.getBytes(StandardCharsets.UTF_8),
                                    PLACEHOLDER)));
            fixture.session.port = plain.port();
            Front open = fixture.front(Scheme.HTTP, false);
            assertThat(open.get("/", "Authorization: Bearer x")).contains("200 OK");
            assertThat(open.get("/", "Authorization: Bearer " + PLACEHOLDER)).contains("403");
            assertThat(plain.heads).hasSize(1);
            assertThat(plain.heads.getFirst()).doesNotContain(SECRET);
        }
    }

    @Test
    void refusesTwoBindings() throws Exception {
        SecretGrant one = InterceptFixture.secret(SecretSlot.bearer(), "/a/**");
        SecretGrant two =
                new SecretGrant(
                        "se2",
                        "other",
                        new SecretSpec(
                                List.of(
                                        new SecretBinding(
                                                "api.example.org",
                                                null,
                                                List.of("GET"),
                                                null,
                                                SecretSlot.bearer())),
                                null,
                                null,
                                null,
                                null),
                        "another-secret".getBytes(StandardCharsets.UTF_8),
                        "csp_ffffffffffffffffffffffffffffffff");
        fixture.session.broker.replace(List.of(one, two));
        assertThat(front.get("/a/x")).contains("Caisson-Denied: secret ambiguous");
        assertThat(server.heads).isEmpty();
        assertThat(front.get("/b")).contains("200 OK");
        assertThat(arrived()).contains("another-secret");
    }

    @Test
    void revocationActsOnTheNextRequestOfTheSameConnection() throws Exception {
        fixture.grant(SecretSlot.bearer());
        try (Socket socket = front.open()) {
            Http1InterceptTest.write(socket, "GET /1 HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
            RawServer.head(socket.getInputStream());
            fixture.session.broker.replace(List.of());
            Http1InterceptTest.write(
                    socket,
                    "GET /2 HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n\r\n");
            String rest =
                    new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(rest).contains("200 OK").doesNotContain(SECRET);
        }
        assertThat(server.heads.get(0)).contains(SECRET);
        assertThat(server.heads.get(1)).doesNotContain(SECRET);
    }

    @Test
    void keepsToTheLimits() throws Exception {
        SecretSpec spec =
                new SecretSpec(spec(443, SecretSlot.bearer()).bindings(), null, 2, 3L, null);
        fixture.session.broker.replace(
                List.of(
                        new SecretGrant(
                                "se1",
                                "token",
                                spec,
                                SECRET.getBytes(StandardCharsets.UTF_8),
                                PLACEHOLDER)));
        assertThat(front.get("/")).contains("200 OK");
        assertThat(front.get("/")).contains("200 OK");
        assertThat(front.get("/")).contains("Caisson-Denied: secret limit requestsPerMinute");
        assertThat(server.heads).hasSize(2);
    }

    @Test
    void cutsWhatMovesTooManyBytes() throws Exception {
        SecretSpec spec =
                new SecretSpec(spec(443, SecretSlot.bearer()).bindings(), null, null, null, 10L);
        fixture.session.broker.replace(
                List.of(
                        new SecretGrant(
                                "se1",
                                "token",
                                spec,
                                SECRET.getBytes(StandardCharsets.UTF_8),
                                PLACEHOLDER)));
        front.get("/");
        assertThat(front.get("/")).contains("Caisson-Denied: secret limit bytes");
    }

    @Test
    void putsItIntoTheQueryAndBasicAuthentication() throws Exception {
        fixture.grant(
                new SecretSlot("query", "key", null, null, null, null, null, List.of(), null));
        front.get("/x?a=1&key=" + PLACEHOLDER + "&%6bey=2");
        assertThat(arrived()).startsWith("GET /x?a=1&key=" + SECRET + " HTTP/1.1\r\n");
        fixture.grant(new SecretSlot("basic", null, null, "me", null, null, null, List.of(), null));
        front.get("/x");
        assertThat(server.heads.getLast()).contains("Authorization: Basic " + basic("me"));
    }

    @Test
    void gitMayFetchAndPushOnlyWhenItMay() throws Exception {
        fixture.grant(new SecretSlot("git", null, null, "me", null, null, null, List.of(), null));
        front.get("/r.git/info/refs?service=git-upload-pack");
        assertThat(arrived()).contains(basic("me"));
        front.get("/r.git/info/refs?service=git-receive-pack");
        assertThat(server.heads.getLast()).doesNotContain(basic("me"));
        fixture.grant(new SecretSlot("git", null, null, "me", null, null, null, List.of(), true));
        front.get("/r.git/info/refs?service=git-receive-pack");
        assertThat(server.heads.getLast()).contains(basic("me"));
        front.get("/r.git/config");
        assertThat(server.heads.getLast()).doesNotContain(basic("me"));
    }

    @Test
    void fetchesAnAccessTokenOnceAndRedactsIt() throws Exception {
        try (RawServer tokens =
                new RawServer(
                        fixture.ca.server("token.example.net"),
                        (head, in, out) -> {
                            in.readNBytes(Http1InterceptTest.length(head));
                            return RawServer.text(
                                            "{\"access_token\":\"fresh-token-4711\","
                                                + "\"token_type\":\"Bearer\",\"expires_in\":3600}")
                                    .serve(head, in, out);
                        })) {
            fixture.session.tokenPort = tokens.port();
            SecretSlot slot =
                    new SecretSlot(
                            "oauth",
                            null,
                            null,
                            null,
                            null,
                            null,
                            "https://token.example.net/oauth/token",
                            List.of("read"),
                            null);
            fixture.grant(slot);
            assertThat(front.get("/1")).contains("200 OK").doesNotContain("fresh-token-4711");
            assertThat(front.get("/2")).contains("200 OK");
            assertThat(server.heads)
                    .hasSize(2)
                    .allMatch(head -> head.contains("Authorization: Bearer fresh-token-4711"));
            assertThat(tokens.heads)
                    .singleElement()
                    .asString()
                    .startsWith("POST /oauth/token HTTP/1.1");
        }
    }

    @Test
    void rangesAreNotAskedForWithACredential() throws Exception {
        fixture.grant(SecretSlot.bearer());
        front.get("/x", "Range: bytes=0-3");
        assertThat(arrived()).doesNotContain("Range");
    }

    @Test
    void norWhereTheServerMayKeepWhatItGot() throws Exception {
        fixture.session.broker.replace(
                List.of(InterceptFixture.secret(SecretSlot.bearer(), "/v1/**")));
        front.get("/log", "Range: bytes=0-3");
        assertThat(arrived()).doesNotContain("Range", SECRET);
        // The secret of another host is no reason.
        fixture.session.broker.replace(
                List.of(
                        new SecretGrant(
                                "se1",
                                "token",
                                spec(8443, SecretSlot.bearer()),
                                SECRET.getBytes(StandardCharsets.UTF_8),
                                PLACEHOLDER)));
        front.get("/log", "Range: bytes=0-3");
        assertThat(server.heads.getLast()).contains("Range: bytes=0-3\r\n");
    }

    @Test
    void printsNoSecret() {
        SecretGrant grant = InterceptFixture.secret(SecretSlot.bearer(), null);
        assertThat(grant.toString()).doesNotContain(SECRET);
    }

    private String arrived() {
        return server.heads.getFirst();
    }

    private static String basic(String user) {
        return Base64.getEncoder()
                .encodeToString((user + ":" + SECRET).getBytes(StandardCharsets.UTF_8));
    }

    private static SecretSpec spec(int port, SecretSlot slot) {
        return new SecretSpec(
                List.of(new SecretBinding("api.example.org", port, List.of(), null, slot)),
                null,
                null,
                null,
                null);
    }
}
