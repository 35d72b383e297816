package dev.caisson.server;

import dev.caisson.v1.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A server on a free port of loopback over a fake control. */
final class TestServer implements AutoCloseable {
    static final String SANDBOX = "sb" + "0".repeat(20);

    final FakeControl control = new FakeControl();
    final HttpApi api;
    final HttpClient client =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();

    TestServer() {
        this(settings -> settings);
    }

    TestServer(UnaryOperator<ServerSettings> change) {
        ServerSettings free =
                ServerSettings.defaults()
                        .withAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        api = new HttpApi(control.control(), change.apply(free));
        api.start();
    }

    URI uri(String path) {
        return URI.create("http://127.0.0.1:" + api.address().getPort() + path);
    }

    HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(uri(path))
                .timeout(Duration.ofSeconds(20))
                .header("Authorization", "Bearer " + FakeControl.KEY);
    }

    HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    HttpResponse<String> get(String path) throws Exception {
        return send(request(path));
    }

    HttpResponse<String> post(String path, String json) throws Exception {
        return send(json(request(path), "POST", json));
    }

    static HttpRequest.Builder json(HttpRequest.Builder request, String method, String json) {
        return request.header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(json));
    }

    /** Sends bytes as they are and reads to the end of the answer, or to the timeout. */
    String raw(String text) throws IOException {
        try (Socket socket = connect()) {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    Socket connect() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.address().getPort());
        socket.setSoTimeout(15_000);
        return socket;
    }

    /** A head with host, key and an end of the connection. */
    static String head(String line, String... more) {
        StringBuilder head =
                new StringBuilder(line)
                        .append(" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ")
                        .append(FakeControl.KEY)
                        .append("\r\nConnection: close\r\n");
        for (String field : more) {
            head.append(field).append("\r\n");
        }
        return head.append("\r\n").toString();
    }

    static JsonNode tree(@Nullable String json) {
        return Json.LENIENT.readTree(json);
    }

    static JsonNode error(HttpResponse<String> response) {
        return tree(response.body()).path("error");
    }

    @Override
    public void close() {
        client.close();
        api.close();
    }
}
