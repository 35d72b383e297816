package dev.caisson.serve;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A tiny OpenTelemetry collector: keeps the bodies that it gets. */
final class Collector implements AutoCloseable {
    final List<String> bodies = new CopyOnWriteArrayList<>();
    final List<String> types = new CopyOnWriteArrayList<>();
    private final HttpServer server;

    Collector() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext(
                "/v1/traces",
                exchange -> {
                    types.add(exchange.getRequestHeaders().getFirst("Content-Type"));
                    bodies.add(
                            new String(
                                    exchange.getRequestBody().readAllBytes(),
                                    StandardCharsets.ISO_8859_1));
                    exchange.getResponseHeaders().set("Content-Type", "application/x-protobuf");
                    exchange.sendResponseHeaders(200, -1);
                    exchange.close();
                });
        server.start();
    }

    URI base() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** All that came, one character a byte. */
    String all() {
        return String.join("", bodies);
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
