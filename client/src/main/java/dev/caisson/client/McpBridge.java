package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Carries the Model Context Protocol from standard streams to {@code /mcp} of a server and back, so
 * that a client that only starts programs has all that the server offers: its tools, its questions,
 * and sandboxes that end with the session. A stream that breaks is opened again behind its last
 * event.
 */
public final class McpBridge implements AutoCloseable {
    private static final int MAX_MESSAGE = 16 << 20;
    private static final int PARSE_ERROR = -32700;
    private static final int SERVER_ERROR = -32000;
    private static final long AGAIN_MILLIS = 1000;

    /** A server that does not answer must not keep the program; its sessions end by themselves. */
    private static final Duration GOODBYE = Duration.ofSeconds(5);

    private static final String EVENTS = "text/event-stream";
    private static final Set<ErrorCode> ENDS =
            Set.of(
                    ErrorCode.NOT_FOUND,
                    ErrorCode.INVALID,
                    ErrorCode.UNAUTHENTICATED,
                    ErrorCode.POLICY_DENIED);

    private final Http http;
    private final OutputStream out; // guarded by itself
    private final AtomicBoolean listening = new AtomicBoolean();
    private volatile @Nullable String session;
    private volatile @Nullable String version;
    private volatile boolean over;

    private McpBridge(RemoteConfig config, OutputStream out) {
        this.http = new Http(config);
        this.out = out;
    }

    /**
     * Serves until the input ends; then the session and its sandboxes end. Neither stream is
     * closed.
     *
     * @param in one JSON-RPC message a line, at most 16 MiB
     * @throws IOException when the input breaks, or nobody reads the output
     */
    public static void serve(RemoteConfig config, InputStream in, OutputStream out)
            throws IOException {
        try (McpBridge bridge = new McpBridge(config, out)) {
            Lines lines = new Lines(in, MAX_MESSAGE);
            for (byte[] line = lines.next(); line != null; line = lines.next()) {
                bridge.take(line);
            }
        }
    }

    private void take(byte[] line) throws IOException {
        if (over) {
            throw new IOException("nobody reads what the server says");
        }
        if (new String(line, StandardCharsets.UTF_8).isBlank()) {
            return;
        }
        JsonNode message;
        try {
            message = Json.LENIENT.readTree(line);
        } catch (JacksonException e) {
            send(error(null, PARSE_ERROR, "This line is no JSON.", ""));
            return;
        }
        JsonNode id = message.path("method").isString() ? message.get("id") : null;
        boolean opens = message.path("method").asString("").equals("initialize");
        if ((id != null && !opens) || message.isArray()) {
            http.start("caisson-mcp-request", () -> post(message, id));
        } else {
            post(message, id);
        }
    }

    // ---- requests

    private void post(JsonNode message, @Nullable JsonNode id) {
        try {
            deliver(message, id);
            if (message.path("method").asString("").equals("notifications/initialized")
                    && !listening.getAndSet(true)) {
                http.start("caisson-mcp-listen", this::listen);
            }
        } catch (CaissonException e) {
            refuse(id, e);
        } catch (IOException e) {
            refuse(id, Failures.broken(http.config().url(), e));
        }
    }

    private void refuse(@Nullable JsonNode id, CaissonException e) {
        if (id == null || over) {
            return;
        }
        try {
            send(error(id, SERVER_ERROR, e.message(), e.remedy()));
        } catch (IOException gone) {
            // The next line ends it.
        }
    }

    private void deliver(JsonNode message, @Nullable JsonNode id) throws IOException {
        Stream stream = new Stream(id);
        try (Answer answer = http.open(headers(Call.post("mcp").json(message)))) {
            session = answer.headers().firstValue("mcp-session-id").orElse(session);
            String type = answer.headers().firstValue("content-type").orElse("");
            if (!type.startsWith(EVENTS)) {
                JsonNode reply = whole(answer);
                if (reply != null) {
                    remember(reply);
                    send(reply);
                }
                return;
            }
            if (stream.read(answer) || id == null) {
                return;
            }
        } catch (IOException e) {
            if (stream.last == null || id == null) {
                throw e;
            }
        }
        stream.goOn();
    }

    private void remember(JsonNode reply) {
        String spoken = reply.path("result").path("protocolVersion").asString("");
        if (version == null && !spoken.isEmpty()) {
            version = spoken;
        }
    }

    private Call headers(Call call) {
        call.header("Accept", "application/json, " + EVENTS);
        String known = session;
        if (known != null) {
            call.header("Mcp-Session-Id", known);
        }
        String spoken = version;
        return spoken == null ? call : call.header("MCP-Protocol-Version", spoken);
    }

    private @Nullable JsonNode whole(Answer answer) throws IOException {
        int limit = (int) Math.min(Integer.MAX_VALUE - 8, http.config().answerLimit().bytes());
        byte[] body = answer.stream().readNBytes(limit);
        if (answer.stream().read() >= 0) {
            throw CaissonException.of(
                    ErrorCode.TOO_LARGE, "The server's answer has more than " + limit + " bytes.");
        }
        return body.length == 0 ? null : parse(body);
    }

    private static JsonNode parse(byte[] json) throws IOException {
        try {
            return Json.LENIENT.readTree(json);
        } catch (JacksonException e) {
            throw new IOException("the server said what is no JSON", e);
        }
    }

    // ---- what the server says by itself

    private void listen() {
        Stream stream = new Stream(null);
        while (!over) {
            try (Answer answer = http.open(stream.again())) {
                stream.read(answer);
            } catch (IOException e) {
                // It is opened again.
            } catch (CaissonException e) {
                boolean forgotten = e.code() == ErrorCode.NOT_FOUND && stream.last != null;
                if (!forgotten && ENDS.contains(e.code())) {
                    return; // the session or the key is over, or the server has no such stream
                }
                stream.last = null;
            }
            if (!pause()) {
                return;
            }
        }
    }

    private static boolean pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(AGAIN_MILLIS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Events up to the answer to a request, or for ever. One thread. */
    private final class Stream {
        private final @Nullable JsonNode id;
        private @Nullable String last; // id of the last event

        Stream(@Nullable JsonNode id) {
            this.id = id;
        }

        Call again() {
            Call call = headers(Call.get("mcp").again(Call.Again.WHEN_REFUSED));
            call.header("Accept", EVENTS);
            String behind = last;
            return behind == null ? call : call.header("Last-Event-ID", behind);
        }

        /** Reads on until the answer came, as long as the server can be reached now and then. */
        void goOn() throws IOException {
            long heard = System.nanoTime();
            String before = last;
            while (last != null && !over) {
                try (Answer answer = http.open(again())) {
                    if (read(answer)) {
                        return;
                    }
                } catch (IOException e) {
                    // It is opened again.
                } catch (CaissonException e) {
                    if (e.code() == ErrorCode.NOT_FOUND || e.code() == ErrorCode.UNAUTHENTICATED) {
                        throw e;
                    }
                }
                if (!String.valueOf(last).equals(before)) {
                    before = last;
                    heard = System.nanoTime();
                }
                if (System.nanoTime() - heard > http.config().patience().toNanos() || !pause()) {
                    break;
                }
            }
            throw new IOException("a stream of events ended before the answer");
        }

        /** Passes on what comes; true when the answer was among it. */
        boolean read(Answer answer) throws IOException {
            Lines lines = new Lines(answer.stream(), http.config().answerLimit().bytes());
            ByteArrayOutputStream data = new ByteArrayOutputStream();
            String next = last;
            for (byte[] bytes = lines.next(); bytes != null; bytes = lines.next()) {
                String line = new String(bytes, StandardCharsets.UTF_8).stripTrailing();
                if (line.startsWith("data:")) {
                    data.writeBytes(line.substring(5).strip().getBytes(StandardCharsets.UTF_8));
                } else if (line.startsWith("id:")) {
                    next = line.substring(3).strip();
                } else if (line.isEmpty()) {
                    boolean answered = data.size() > 0 && pass(parse(data.toByteArray()));
                    data.reset();
                    last = next;
                    if (answered) {
                        return true;
                    }
                }
            }
            return false;
        }

        private boolean pass(JsonNode message) throws IOException {
            send(message);
            return id != null && !message.has("method") && id.equals(message.get("id"));
        }
    }

    // ---- the client's side

    private void send(JsonNode message) throws IOException {
        byte[] line = Json.bytes(message);
        synchronized (out) {
            try {
                out.write(line);
                out.write('\n');
                out.flush();
            } catch (IOException e) {
                over = true;
                throw e;
            }
        }
    }

    private static ObjectNode error(
            @Nullable JsonNode id, int code, String message, String remedy) {
        ObjectNode error = JsonNodeFactory.instance.objectNode();
        error.put("jsonrpc", "2.0");
        error.set("id", id == null ? JsonNodeFactory.instance.nullNode() : id);
        String text = remedy.isEmpty() ? message : message + " " + remedy;
        error.putObject("error").put("code", code).put("message", text);
        return error;
    }

    /** Ends the session, with what it made. */
    @Override
    public void close() {
        over = true;
        if (session != null) {
            try {
                http.run(headers(Call.delete("mcp").timeout(GOODBYE)));
            } catch (CaissonException e) {
                // It is over already, or ends when nothing was heard of it for long enough.
            }
        }
        http.close();
    }
}
