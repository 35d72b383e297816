package dev.caisson.mcp;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** The transport on a real server, with two keys: one and two. */
final class HttpMount implements AutoCloseable {
    final List<FakeBackend> backends = new CopyOnWriteArrayList<>();
    final Map<String, Boolean> revoked = new ConcurrentHashMap<>();
    final Map<String, String> tenants = new ConcurrentHashMap<>();
    final StreamableHttp mcp;
    private final HttpServer server;
    volatile boolean decides;

    /** While set, streams break after that many writes. */
    volatile int breakAfter = Integer.MAX_VALUE;

    HttpMount(HttpSettings settings) throws IOException {
        mcp = new StreamableHttp(settings);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/mcp", this::handle);
        server.start();
    }

    /** For a request with that header. */
    Gate.Access open(@Nullable String authorization) {
        String bearer = String.valueOf(authorization).replaceFirst("(?i)^bearer +", "");
        if (!List.of("one", "two").contains(bearer) || revoked.containsKey(bearer)) {
            throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "No such key.");
        }
        return new Gate.Access(
                tenants.getOrDefault(bearer, "local"),
                "local/" + bearer,
                () -> {
                    FakeBackend backend = new FakeBackend();
                    backend.decides = decides;
                    backends.add(backend);
                    return backend;
                });
    }

    URI base() {
        return URI.create("http://localhost:" + server.getAddress().getPort());
    }

    URI uri() {
        return base().resolve("/mcp");
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            HttpAnswer answer =
                    mcp.handle(
                            new HttpRequest(
                                    exchange.getRequestMethod(),
                                    name -> exchange.getRequestHeaders().getFirst(name),
                                    exchange.getRequestBody()),
                            () -> open(exchange.getRequestHeaders().getFirst("Authorization")));
            answer.headers().forEach(exchange.getResponseHeaders()::set);
            switch (answer) {
                case HttpAnswer.Whole whole -> {
                    int length = whole.body().length;
                    exchange.sendResponseHeaders(whole.status(), length == 0 ? -1 : length);
                    exchange.getResponseBody().write(whole.body());
                }
                case HttpAnswer.Events events -> {
                    exchange.sendResponseHeaders(events.status(), 0);
                    OutputStream out = exchange.getResponseBody();
                    int[] writes = {0};
                    events.source()
                            .writeTo(bytes -> {
                                if (writes[0]++ >= breakAfter) {
                                    breakAfter = Integer.MAX_VALUE;
                                    throw new IOException("broken by the test");
                                }
                                out.write(bytes);
                                out.flush();
                            });
                }
            }
        }
    }

    @Override
    public void close() {
        mcp.close();
        server.stop(0);
    }
}
