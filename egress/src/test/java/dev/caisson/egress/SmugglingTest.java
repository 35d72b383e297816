package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** N32, N34: what could be read in two ways never reaches the server. */
@SuppressWarnings("StringConcatToTextBlock") // Lines of HTTP end with two characters.
class SmugglingTest {
    private static final String HOST = "Host: api.example.org\r\n";
    private InterceptFixture fixture;
    private RawServer server;
    private Front front;

    @BeforeEach
    void open() throws Exception {
        fixture = new InterceptFixture();
        server =
                fixture.server((head, in, out) -> {
                    if (head.toLowerCase(java.util.Locale.ROOT).contains("chunked")) {
                        String chunk = RawServer.head(in);
                        while (!chunk.isEmpty() && !chunk.endsWith("0\r\n\r\n")) {
                            chunk = RawServer.head(in);
                        }
                    } else {
                        in.readNBytes(Http1InterceptTest.length(head));
                    }
                    return RawServer.text("ok").serve(head, in, out);
                });
        front = fixture.front();
    }

    @AfterEach
    void close() throws Exception {
        fixture.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
                "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX",
                "Content-Length: 1\r\nContent-Length: 1\r\n\r\nX",
                "Content-Length: 1\r\nContent-Length: 2\r\n\r\nXY",
                "Content-Length: 1, 1\r\n\r\nX",
                "Content-Length: +1\r\n\r\nX",
                "Content-Length: 0x1\r\n\r\nX",
                "Content-Length : 1\r\n\r\nX",
                "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nX",
                "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "Transfer-Encoding:\u000bchunked\r\n\r\n0\r\n\r\n",
                "X-A: 1\r\n folded\r\n\r\n",
                "X-A: 1\r\n\tfolded: 2\r\n\r\n",
                "X-A: 1\nX-B: 2\r\n\r\n",
                "X-A: a\rb\r\n\r\n",
                "X-A: a\u0000b\r\n\r\n",
                "X(A): 1\r\n\r\n",
                "NoColon\r\n\r\n",
                ": empty\r\n\r\n",
                "Host: api.example.org\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n1;ext=1\r\nX\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n1 \r\nX\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n0x1\r\nX\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n-1\r\nX\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n1\nX\n0\n\n",
                "Transfer-Encoding: chunked\r\n\r\n1\r\nXY\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\nX\r\n0\r\n\r\n"
            })
    void refusesTwoMeanings(String rest) throws Exception {
        String answer = front.raw("POST /p HTTP/1.1\r\n" + HOST + rest);
        assertThat(answer).doesNotContain("200 OK").doesNotContain("ok");
        if (!answer.isEmpty()) {
            assertThat(answer).containsPattern("HTTP/1.1 (400|413|431|501|505)");
        }
        if (!rest.contains("\r\n\r\n1") && !rest.contains("\r\n\r\n0x") && !rest.contains("-1")) {
            assertThat(server.heads).isEmpty();
        }
        assertThat(server.heads).noneMatch(head -> head.contains("ext="));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /\r\n\r\n",
                "GET / HTTP/0.9\r\n" + "Host: api.example.org\r\n\r\n",
                "GET / HTTP/2.0\r\n" + "Host: api.example.org\r\n\r\n",
                "GET / HTTP/1.2\r\n" + "Host: api.example.org\r\n\r\n",
                "GET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1 \r\n" + "Host: api.example.org\r\n\r\n",
                "G(T / HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "TRACE / HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "CONNECT api.example.org:443 HTTP/1.1\r\n" + "Host: api.example.org:443\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "GET /a/../b HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET /a/%2e%2E/b HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET /a/..;x/b HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET /a/..%2fb HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET /a#b HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET a HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET * HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET ftp://api.example.org/ HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET http://api.example.org/ HTTP/1.1\r\n" + "Host: api.example.org\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "Host: user@api.example.org\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "Host: api.example.org\\.evil\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "Host: api.example.org, evil\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "Host: api.example.org:0443\r\n\r\n",
                "GET / HTTP/1.1\r\n" + "Host: api.example.org\r\nExpect: 200-ok\r\n\r\n"
            })
    void refusesWhatIsNotARequestForThisHost(String request) throws Exception {
        assertThat(front.raw(request)).doesNotContain("200 OK");
        assertThat(server.heads).isEmpty();
    }

    @Test
    void refusesAHeaderThatIsTooLong() throws Exception {
        assertThat(front.get("/", "X-A: " + "a".repeat(70_000))).doesNotContain("200 OK");
        assertThat(server.heads).isEmpty();
        assertThat(front.get("/", "X-A: " + "a".repeat(20_000))).contains("200 OK");
    }

    @Test
    void whatIsReadWithIndulgenceIsWrittenAnew() throws Exception {
        front.raw("GET  /a http/1.1\r\n" + HOST + "Connection:close\r\n\r\n");
        assertThat(server.heads).singleElement().asString().startsWith("GET /a HTTP/1.1\r\n");
    }

    @Test
    void whatFollowsARequestIsTheNextOneAndNoPartOfTheFirst() throws Exception {
        String two =
                "POST /1 HTTP/1.1\r\n"
                        + HOST
                        + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                        + "GET /2 HTTP/1.1\r\n"
                        + HOST
                        + "Connection: close\r\n\r\n";
        assertThat(front.raw(two).split("HTTP/1.1 200 OK", -1)).hasSize(3);
        assertThat(server.heads.stream().map(head -> head.split(" HTTP", 2)[0]).toList())
                .isEqualTo(List.of("POST /1", "GET /2"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokX",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
                "HTTP/1.1 200 OK\r\nX-A: 1\r\n folded\r\n\r\nok",
                "HTTP/1.1 200 OK\nX-A: 1\n\nok",
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nok",
                "SSH-2.0-OpenSSH\r\n\r\n",
                "HTTP/1.1 99 No\r\n\r\n"
            })
    void refusesAnswersWithTwoMeanings(String answer) throws Exception {
        RawServer odd =
                fixture.server((head, in, out) -> {
                    out.write(answer.getBytes(StandardCharsets.ISO_8859_1));
                    return false;
                });
        assertThat(front.get("/")).startsWith("HTTP/1.1 502");
        assertThat(odd.heads).hasSize(1);
    }
}
