package dev.caisson.server;

import static dev.caisson.server.FakeControl.bytes;
import static dev.caisson.server.TestServer.SANDBOX;
import static dev.caisson.server.TestServer.head;
import static dev.caisson.server.TestServer.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class FileTest {
    private static final TestServer SERVER = new TestServer();
    private static final String FILES = "/v1/sandboxes/" + SANDBOX + "/files";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static HttpResponse<String> range(String range) throws Exception {
        SERVER.control.files.contents.put("/work/digits", bytes("0123456789"));
        return SERVER.send(SERVER.request(FILES + "?path=/work/digits").header("Range", range));
    }

    @Test
    void servesOneRange() throws Exception {
        HttpResponse<String> part = range("bytes=2-4");
        assertThat(part.statusCode()).isEqualTo(206);
        assertThat(part.body()).isEqualTo("234");
        assertThat(part.headers().firstValue("Content-Range")).contains("bytes 2-4/10");
        assertThat(range("bytes=7-").body()).isEqualTo("789");
        assertThat(range("bytes=-3").body()).isEqualTo("789");
        assertThat(range("bytes=0-99").body()).isEqualTo("0123456789");
    }

    @Test
    void ignoresSeveralRangesAndRefusesThoseBeyond() throws Exception {
        assertThat(range("bytes=0-1,3-4").statusCode()).isEqualTo(200);
        assertThat(range("lines=0-1").body()).isEqualTo("0123456789");
        assertThat(range("bytes=4-2").statusCode()).isEqualTo(200);
        HttpResponse<String> beyond = range("bytes=10-");
        assertThat(beyond.statusCode()).isEqualTo(416);
        assertThat(beyond.headers().firstValue("Content-Range")).contains("bytes */10");
    }

    @Test
    void aFileThatMayBecomeShorterComesWhole() throws Exception {
        SERVER.control.files.redacted = true;
        try {
            HttpResponse<String> whole = range("bytes=2-4");
            assertThat(whole.statusCode()).isEqualTo(200);
            assertThat(whole.body()).isEqualTo("0123456789");
            assertThat(whole.headers().firstValue("Accept-Ranges")).contains("none");
            assertThat(whole.headers().firstValue("Content-Length")).isEmpty();
        } finally {
            SERVER.control.files.redacted = false;
        }
    }

    @Test
    void tellsTheSizeOnly() throws Exception {
        SERVER.control.files.contents.put("/work/sized", new byte[12345]);
        HttpResponse<String> size =
                SERVER.send(
                        SERVER.request(FILES + "?path=/work/sized")
                                .method("HEAD", HttpRequest.BodyPublishers.noBody()));
        assertThat(size.headers().firstValue("Content-Length")).contains("12345");
        assertThat(size.body()).isEmpty();
    }

    @Test
    void isNeverShownByABrowser() throws Exception {
        SERVER.control.files.contents.put("/work/ä\"x.html", bytes("<script>"));
        HttpResponse<String> file = SERVER.get(FILES + "?path=/work/%C3%A4%22x.html");
        assertThat(file.headers().firstValue("Content-Disposition"))
                .contains("attachment; filename=\"___x.html\"; filename*=UTF-8''%C3%A4%22x.html");
        assertThat(file.headers().firstValue("Content-Type")).contains("application/octet-stream");
        assertThat(file.headers().firstValue("X-Content-Type-Options")).contains("nosniff");
    }

    @Test
    void writesAFileOfAnyLength() throws Exception {
        byte[] large = new byte[20 << 20];
        Arrays.fill(large, (byte) 'x');
        HttpResponse<String> written =
                SERVER.send(
                        SERVER.request(FILES + "?path=/work/large&mode=420")
                                .PUT(HttpRequest.BodyPublishers.ofByteArray(large)));
        assertThat(written.statusCode()).as(written.body()).isEqualTo(200);
        assertThat(SERVER.control.files.contents.get("/work/large")).hasSize(large.length);
    }

    @Test
    void writesNothingOfAnUploadThatBreaksOff() throws Exception {
        for (String field : new String[] {"Content-Length: 1000", "Transfer-Encoding: chunked"}) {
            int before = SERVER.control.files.broken.get();
            try (Socket socket = SERVER.connect()) {
                String part = field.startsWith("T") ? "5\r\nhello\r\n" : "hello";
                socket.getOutputStream()
                        .write(
                                (head("PUT " + FILES + "?path=/work/broken", field) + part)
                                        .getBytes(StandardCharsets.US_ASCII));
                socket.getOutputStream().flush();
                socket.shutdownOutput();
                await().until(() -> SERVER.control.files.broken.get() == before + 1);
            }
            assertThat(SERVER.control.files.contents).doesNotContainKey("/work/broken");
        }
        assertThat(
                        SERVER.raw(
                                head("PUT " + FILES + "?path=/work/whole", "Content-Length: 5")
                                        + "hello"))
                .startsWith("HTTP/1.1 200");
        assertThat(SERVER.control.files.contents.get("/work/whole")).isEqualTo(bytes("hello"));
    }

    @Test
    void takesNoMoreThanALengthSays() throws Exception {
        String answer =
                SERVER.raw(
                        head("PUT " + FILES + "?path=/work/lying", "Content-Length: 5")
                                        .replace("Connection: close\r\n", "")
                                + "helloGET /v1/nonsense HTTP/9.9\r\n\r\n");
        assertThat(answer).startsWith("HTTP/1.1 200");
        assertThat(SERVER.control.files.contents.get("/work/lying")).isEqualTo(bytes("hello"));
    }

    @Test
    void makesLinksThatAreGoodForOneThing() throws Exception {
        SERVER.control.files.contents.put("/work/linked", bytes("linked"));
        HttpResponse<String> made = SERVER.post(FILES + "/links", "{\"path\":\"/work/linked\"}");
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        URI link = URI.create(tree(made.body()).path("url").asString());
        HttpResponse<String> read = SERVER.send(HttpRequest.newBuilder(link));
        assertThat(read.statusCode()).as(read.body()).isEqualTo(200);
        assertThat(read.body()).isEqualTo("linked");
        HttpRequest.Builder write =
                HttpRequest.newBuilder(link).PUT(HttpRequest.BodyPublishers.ofString("x"));
        assertThat(SERVER.send(write).statusCode()).isEqualTo(401);
        URI forged = URI.create(link.toString().replaceAll(".$", "!").replace("!", "A"));
        URI other =
                forged.equals(link) ? URI.create(link.toString().replaceAll(".$", "E")) : forged;
        String cut = link.toString().substring(0, link.toString().length() - 4);
        assertThat(SERVER.send(HttpRequest.newBuilder(URI.create(cut))).statusCode())
                .isEqualTo(401);
        assertThat(other).isNotEqualTo(link);
        String payload = link.toString().replace("/links/", "/links/A");
        assertThat(SERVER.send(HttpRequest.newBuilder(URI.create(payload))).statusCode())
                .isEqualTo(401);
    }

    @Test
    void linksExpire() throws Exception {
        SERVER.control.files.contents.put("/work/brief", bytes("brief"));
        HttpResponse<String> made =
                SERVER.post(FILES + "/links", "{\"path\":\"/work/brief\",\"expiresInMillis\":1}");
        Thread.sleep(20);
        URI link = URI.create(tree(made.body()).path("url").asString());
        assertThat(SERVER.send(HttpRequest.newBuilder(link)).statusCode()).isEqualTo(401);
    }

    @Test
    void linksEndWithTheSecretThatTheyWereMadeWith() throws Exception {
        try (TestServer server = new TestServer()) {
            server.control.files.contents.put("/work/linked", bytes("linked"));
            String made = server.post(FILES + "/links", "{\"path\":\"/work/linked\"}").body();
            URI link = URI.create(tree(made).path("url").asString());
            assertThat(server.send(HttpRequest.newBuilder(link)).body()).isEqualTo("linked");
            server.control.rotate();
            HttpResponse<String> over = server.send(HttpRequest.newBuilder(link));
            assertThat(over.statusCode()).isEqualTo(401);
            assertThat(over.body()).doesNotContain("linked");
        }
    }

    @Test
    void linksAndTicketsEndAsATokenDoes() throws Exception {
        HttpRequest.Builder person =
                HttpRequest.newBuilder(SERVER.uri(FILES + "/links"))
                        .header("Authorization", "Bearer oidc.good.token");
        HttpResponse<String> made =
                SERVER.send(TestServer.json(person, "POST", "{\"path\":\"/work/x\"}"));
        Instant end = Instant.parse(tree(made.body()).path("expiresAt").asString());
        assertThat(end).isBefore(Instant.now().plusSeconds(21));
        String usual = SERVER.post(FILES + "/links", "{\"path\":\"/work/x\"}").body();
        assertThat(Instant.parse(tree(usual).path("expiresAt").asString()))
                .isAfter(Instant.now().plusSeconds(800)); // control
        HttpRequest.Builder ticket =
                HttpRequest.newBuilder(
                                SERVER.uri(
                                        "/v1/sandboxes/" + TestServer.SANDBOX + "/ports/1/tickets"))
                        .header("Authorization", "Bearer oidc.good.token");
        HttpResponse<String> issued = SERVER.send(TestServer.json(ticket, "POST", "{}"));
        assertThat(Instant.parse(tree(issued.body()).path("expiresAt").asString()))
                .isBefore(Instant.now().plusSeconds(21));
    }

    @Test
    void linksWrite() throws Exception {
        HttpResponse<String> made =
                SERVER.post(FILES + "/links", "{\"path\":\"/work/put\",\"method\":\"PUT\"}");
        URI link = URI.create(tree(made.body()).path("url").asString());
        HttpRequest.Builder write =
                HttpRequest.newBuilder(link).PUT(HttpRequest.BodyPublishers.ofString("written"));
        assertThat(SERVER.send(write).statusCode()).isEqualTo(200);
        assertThat(SERVER.control.files.contents.get("/work/put")).isEqualTo(bytes("written"));
    }
}
