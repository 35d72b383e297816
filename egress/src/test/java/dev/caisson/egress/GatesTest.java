package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.policy.Verdict;
import dev.caisson.v1.SecretSlot;
import java.io.ByteArrayOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Gates and their filters, and WebSockets that send a secret back. */
@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class GatesTest {
    private static final Verdict NO = new Verdict(Verdict.Answer.DENY, "package x", "none");
    private static final Verdict YES = new Verdict(Verdict.Answer.ALLOW, "package x", "");
    private InterceptFixture fixture;
    private RawServer server;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
        server = fixture.server(RawServer.text("the index"));
    }

    @AfterEach
    void close() throws Exception {
        fixture.close();
    }

    @Test
    void aGateDecidesInThePlaceOfThePolicy() throws Exception {
        fixture.session.policy =
                dev.caisson.policy.EgressPolicy.of(List.of(dev.caisson.v1.EgressJson.closed()));
        RequestGate gate =
                (session, to, request, target) ->
                        Optional.of(
                                new RequestGate.Gated(
                                        "package",
                                        request.path().equals("/yes") ? YES : NO,
                                        Optional.empty()));
        Front front = fixture.front(gate);
        assertThat(front.get("/yes")).endsWith("the index");
        assertThat(front.get("/no")).contains("Caisson-Denied: package x");
        assertThat(fixture.session.denied)
                .containsExactly("package GET https://api.example.org/no [package x]");
        assertThat(server.heads).hasSize(1);
    }

    @Test
    void aFilterRewritesTheWhole() throws Exception {
        Front front =
                front((status, headers) ->
                        new AnswerFilter.Rewrite(
                                1024,
                                whole ->
                                        (new String(whole, StandardCharsets.UTF_8) + "!!")
                                                .getBytes(StandardCharsets.UTF_8)));
        assertThat(front.get("/")).contains("Content-Length: 11").endsWith("the index!!");
    }

    @Test
    void aFilterRefusesWhatIsTooLong() throws Exception {
        Front front = front((status, headers) -> new AnswerFilter.Rewrite(3, whole -> whole));
        assertThat(front.get("/")).startsWith("HTTP/1.1 502");
    }

    @Test
    void aTapSeesTheBytesAndMayKeepTheLast() throws Exception {
        AtomicReference<String> seen = new AtomicReference<>("");
        assertThat(front((status, headers) -> new Seen(seen, false)).get("/"))
                .endsWith("the index");
        assertThat(seen.get()).isEqualTo("the index");
        assertThat(front((status, headers) -> new Seen(seen, true)).get("/"))
                .doesNotContain("the index");
    }

    @Test
    void aFilterRefusesBeforeTheFirstByte() throws Exception {
        Front front =
                front((status, headers) -> {
                    throw new DeniedException(NO);
                });
        assertThat(front.get("/")).startsWith("HTTP/1.1 403").doesNotContain("the index");
    }

    @Test
    void aWebSocketThatSendsASecretBackIsCut() throws Exception {
        fixture.server((head, in, out) -> {
            out.write(
                    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                    + "Connection: Upgrade\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            out.flush();
            in.readNBytes(1);
            out.write(
                    ("frame " + InterceptFixture.SECRET + " frame")
                            .getBytes(StandardCharsets.US_ASCII));
            out.flush();
            in.read();
            return false;
        });
        fixture.grant(SecretSlot.bearer());
        try (Socket socket = fixture.front().open()) {
            Http1InterceptTest.write(
                    socket,
                    "GET /ws HTTP/1.1\r\nHost: api.example.org\r\nConnection: Upgrade\r\n"
                            + "Upgrade: websocket\r\n"
                            + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
            assertThat(RawServer.head(socket.getInputStream())).contains("101");
            Http1InterceptTest.write(socket, "x");
            ByteArrayOutputStream got = new ByteArrayOutputStream();
            try {
                socket.getInputStream().transferTo(got);
            } catch (java.io.IOException e) {
                // It was cut.
            }
            assertThat(got.toString(StandardCharsets.UTF_8)).doesNotContain("value-0815");
        }
        org.awaitility.Awaitility.await()
                .untilAsserted(() ->
                        assertThat(fixture.session.denied)
                                .singleElement()
                                .asString()
                                .contains("[secret reflected]"));
    }

    private Front front(AnswerFilter filter) throws Exception {
        return fixture.front((session, to, request, target) ->
                Optional.of(new RequestGate.Gated("package", YES, Optional.of(filter))));
    }

    private record Seen(AtomicReference<String> text, boolean refuse) implements AnswerFilter.Tap {
        Seen {
            text.set("");
        }

        @Override
        public void bytes(ByteBuffer bytes) {
            text.updateAndGet(t -> t + StandardCharsets.UTF_8.decode(bytes));
        }

        @Override
        public void end() throws DeniedException {
            if (refuse) {
                throw new DeniedException(NO);
            }
        }
    }
}
