package dev.caisson.testkit;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * An HTTP server that answers what a test says, to the byte, and can lie and break off where it
 * likes. Routes are a method and a path, such as {@code GET /v1/info}; what has no route is 404.
 */
public final class StubServer implements AutoCloseable {
    private final ServerSocket listener;
    private final Map<String, Handler> routes = new ConcurrentHashMap<>();
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private final List<Socket> connections = new CopyOnWriteArrayList<>();

    /** Answers a request. */
    @FunctionalInterface
    public interface Handler {
        /** Writes the answer; what it leaves open is closed. */
        void handle(Request request, StubReply reply) throws IOException;
    }

    /**
     * A request as it came.
     *
     * @param path decoded
     * @param query parameters, decoded
     * @param headers by lower-case name
     * @param text the body
     */
    public record Request(
            String method,
            String path,
            Map<String, String> query,
            Map<String, String> headers,
            String text) {
        /** Copies the maps. */
        public Request {
            query = Map.copyOf(query);
            headers = Map.copyOf(headers);
        }

        /** A parameter, or an empty text. */
        public String query(String name) {
            return query.getOrDefault(name, "");
        }

        /** A header, or an empty text. */
        public String header(String name) {
            return headers.getOrDefault(name, "");
        }
    }

    private StubServer(ServerSocket listener) {
        this.listener = listener;
    }

    /** Listens on a free port of the loopback. */
    public static StubServer open() throws IOException {
        StubServer server =
                new StubServer(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
        Thread.ofVirtual().name("stub-server").start(server::accept);
        return server;
    }

    /** Its address. */
    public String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    /** Answers a route from now on. */
    public StubServer on(String route, Handler handler) {
        routes.put(route, handler);
        return this;
    }

    /** Answers a route with that JSON and status 200. */
    public StubServer on(String route, String json) {
        return on(route, (request, reply) -> reply.json(200, json));
    }

    /** Every request so far. */
    public List<Request> requests() {
        return List.copyOf(requests);
    }

    /** The requests of a route so far. */
    public List<Request> requests(String route) {
        return requests.stream()
                .filter(request -> (request.method() + " " + request.path()).equals(route))
                .toList();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                connections.add(socket);
                Thread.ofVirtual().name("stub-connection").start(() -> serve(socket));
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            StubReply reply =
                    new StubReply(socket, in, new BufferedOutputStream(socket.getOutputStream()));
            while (!reply.closed()) {
                String first = line(in);
                if (first.isEmpty()) {
                    return;
                }
                Request request = read(first, in);
                requests.add(request);
                reply.begin(request);
                Handler handler =
                        routes.getOrDefault(
                                request.method() + " " + request.path(),
                                (r, out) -> out.error(404, "not_found", "There is none."));
                handler.handle(request, reply);
                reply.finish();
            }
        } catch (IOException e) {
            // The other side went away, or the test cut it.
        }
    }

    private static Request read(String first, InputStream in) throws IOException {
        String[] words = first.split(" ", -1);
        Map<String, String> headers = new TreeMap<>();
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            headers.put(
                    line.substring(0, colon).toLowerCase(Locale.ROOT),
                    line.substring(colon + 1).strip());
        }
        int mark = words[1].indexOf('?');
        String path = mark < 0 ? words[1] : words[1].substring(0, mark);
        Map<String, String> query = new TreeMap<>();
        if (mark >= 0) {
            for (String pair : words[1].substring(mark + 1).split("&", -1)) {
                int equals = pair.indexOf('=');
                query.put(decode(pair.substring(0, equals)), decode(pair.substring(equals + 1)));
            }
        }
        return new Request(words[0], decode(path), query, headers, body(headers, in));
    }

    private static String decode(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static String body(Map<String, String> headers, InputStream in) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        if (headers.getOrDefault("transfer-encoding", "").equals("chunked")) {
            int size = Integer.parseInt(line(in), 16);
            while (size > 0) {
                body.write(in.readNBytes(size));
                line(in);
                size = Integer.parseInt(line(in), 16);
            }
            line(in);
        } else {
            body.write(
                    in.readNBytes(Integer.parseInt(headers.getOrDefault("content-length", "0"))));
        }
        return body.toString(StandardCharsets.ISO_8859_1);
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                if (line.size() > 0) {
                    throw new EOFException();
                }
                return "";
            }
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket connection : connections) {
            connection.close();
        }
    }
}
