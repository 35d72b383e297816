package dev.caisson.conformance;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A WebSocket to a service; everything that came is one text. */
final class LiveSocket implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(15);

    @SuppressWarnings("JdkObsolete") // written and read by two threads
    private final StringBuffer heard = new StringBuffer();

    private final HttpClient client = HttpClient.newHttpClient();
    private final WebSocket socket;

    private LiveSocket(Api api, String path) throws Exception {
        URI http = api.base().resolve(path);
        URI target = URI.create("ws" + http.toString().substring("http".length()));
        WebSocket.Builder builder = client.newWebSocketBuilder();
        api.headers().forEach(builder::header);
        socket = builder.buildAsync(target, new Hearing()).get(15, TimeUnit.SECONDS);
    }

    static LiveSocket open(Api api, String path) throws Exception {
        return new LiveSocket(api, path);
    }

    private final class Hearing implements WebSocket.Listener {
        @Override
        public @Nullable CompletionStage<?> onBinary(
                WebSocket webSocket, ByteBuffer data, boolean last) {
            heard.append(StandardCharsets.UTF_8.decode(data));
            webSocket.request(1);
            return null;
        }

        @Override
        public @Nullable CompletionStage<?> onText(
                WebSocket webSocket, CharSequence data, boolean last) {
            heard.append(data);
            webSocket.request(1);
            return null;
        }
    }

    void send(String bytes) throws Exception {
        socket.sendBinary(ByteBuffer.wrap(bytes.getBytes(StandardCharsets.UTF_8)), true)
                .get(5, TimeUnit.SECONDS);
    }

    void text(String frame) throws Exception {
        socket.sendText(frame, true).get(5, TimeUnit.SECONDS);
    }

    /** Waits until that was heard. */
    void await(String text) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (heard.indexOf(text) < 0) {
            if (System.nanoTime() > end) {
                throw new AssertionError("no '" + text + "' in: " + heard);
            }
            LiveService.pause(20);
        }
    }

    @Override
    public void close() {
        socket.abort();
        client.close();
    }

    /** A plain request by hand, so that the Host header is the URL's; everything that came. */
    static String http(URI url, Map<String, String> headers) throws IOException {
        try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), url.getPort())) {
            plain.setSoTimeout((int) PATIENCE.toMillis());
            StringBuilder request =
                    new StringBuilder("GET / HTTP/1.1\r\nHost: ").append(url.getAuthority());
            headers.forEach((name, value) ->
                    request.append("\r\n").append(name).append(": ").append(value));
            request.append("\r\nConnection: close\r\n\r\n");
            plain.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
            return new String(plain.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
