package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is mounted beside the routes, and who is told of requests. */
class MountTest {
    private final List<RequestListener.Ended> told = new CopyOnWriteArrayList<>();
    private final HttpClient client = HttpClient.newHttpClient();
    private HttpApi api;

    @BeforeEach
    void open() {
        api = api(new Mount("/echo", MountTest::echo));
        api.start();
    }

    private HttpApi api(Mount... mounts) {
        ServerSettings settings =
                ServerSettings.defaults()
                        .withAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return new HttpApi(
                new FakeControl().control(),
                settings,
                Additions.NONE.withMounts(List.of(mounts)).withListener(told::add));
    }

    @AfterEach
    void close() {
        client.close();
        api.close();
    }

    private static void echo(Mount.Visit visit) throws java.io.IOException {
        byte[] body = visit.body().readAllBytes();
        if (visit.path().endsWith("/stream")) {
            OutputStream output = visit.stream(200, Map.of("Content-Type", "text/event-stream"));
            output.write("one".getBytes(StandardCharsets.UTF_8));
            output.write("two".getBytes(StandardCharsets.UTF_8));
            return;
        }
        String text = visit.method() + " " + visit.path() + " " + visit.header("x-word") + " ";
        visit.answer(
                202,
                Map.of("X-Answer", "yes"),
                (text + new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + api.address().getPort() + path));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void answersBeneathItsPathWithoutAKeyOfTheRoutes() throws Exception {
        HttpResponse<String> answer =
                send(
                        request("/echo/a%20b")
                                .header("X-Word", "w")
                                .POST(HttpRequest.BodyPublishers.ofString("body")));

        assertThat(answer.statusCode()).isEqualTo(202);
        assertThat(answer.body()).isEqualTo("POST /echo/a b w body");
        assertThat(answer.headers().firstValue("X-Answer")).contains("yes");
        assertThat(answer.headers().firstValue("X-Content-Type-Options")).contains("nosniff");
        assertThat(send(request("/echo/stream")).body()).isEqualTo("onetwo");
    }

    @Test
    void pagesOfOtherOriginsAndHiddenPathsDoNotReachIt() throws Exception {
        assertThat(send(request("/echo").header("Origin", "https://evil.example")).statusCode())
                .isEqualTo(403);
        assertThat(send(request("/echo/..%2fv1/info")).statusCode()).isEqualTo(400);
        assertThat(send(request("/v1/info")).statusCode()).isEqualTo(401);
        assertThat(send(request("/echoes")).statusCode()).isEqualTo(401);
    }

    @Test
    void takesNothingWhileTheServerIsDrained() throws Exception {
        api.drain(java.time.Duration.ofMillis(10));
        assertThat(send(request("/echo")).statusCode()).isEqualTo(503);
    }

    @Test
    void eachRequestIsToldOnce() throws Exception {
        send(request("/echo/1"));
        send(
                request("/v1/sandboxes/box")
                        .header("Authorization", "Bearer " + FakeControl.KEY)
                        .header("traceparent", "t"));

        // Told when the answer has gone out, which the client may see first.
        org.awaitility.Awaitility.await().until(() -> told.size() == 2);
        assertThat(told.getFirst().route()).isEqualTo("MOUNT /echo");
        RequestListener.Ended get = told.getLast();
        assertThat(get.route()).isEqualTo("GET /v1/sandboxes/{sandbox}");
        assertThat(get.status()).isEqualTo(200);
        assertThat(get.sandbox()).isEqualTo("box");
        assertThat(get.tenant()).isNotEmpty();
        assertThat(get.traceparent()).isEqualTo("t");
        assertThat(get.nanos()).isPositive();
    }

    @Test
    void twoThingsCannotAnswerAtOnePlace() {
        assertThatThrownBy(() -> api(new Mount("/v1", visit -> {})))
                .isInstanceOf(IllegalArgumentException.class);
        Mount mount = new Mount("/x", visit -> {});
        assertThatThrownBy(() -> api(mount, mount)).isInstanceOf(IllegalArgumentException.class);
    }
}
