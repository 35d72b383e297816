package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/**
 * Streamable HTTP without a server: requests in, answers out. Any server mounts it at one path and
 * gives each request a virtual thread. Safe for use by several threads.
 *
 * <p>Sessions are bound to the credential that made them: for any other they do not exist. A client
 * that loses its connection reads on with {@code Last-Event-ID}; one that stays away loses its
 * session, and with it its sandboxes.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports">the
 *     transport</a>
 */
public final class StreamableHttp implements AutoCloseable {
    private static final String JSON = "application/json";
    private static final String EVENTS = "text/event-stream";
    private static final String SESSION = "Mcp-Session-Id";

    private final HttpSettings settings;
    private final HttpSessions sessions;

    /** No session yet. */
    public StreamableHttp(HttpSettings settings) {
        this.settings = settings;
        this.sessions = new HttpSessions(settings);
    }

    /**
     * Handles a request; blocks while a short answer is made, and never throws for a client's
     * mistake.
     *
     * @param gate lets its sender in
     * @throws IOException when the body breaks
     */
    public HttpAnswer handle(HttpRequest request, Gate gate) throws IOException {
        try {
            String origin = request.header().apply("Origin");
            if (origin != null && !settings.origins().contains(origin)) {
                throw CaissonException.of(
                                ErrorCode.POLICY_DENIED, "Web pages of this origin are not let in.")
                        .withRemedy("Add it to the origins of the MCP settings.");
            }
            Gate.Access access = gate.open();
            version(request);
            return switch (request.method()) {
                case "POST" -> post(request, access);
                case "GET" -> get(request, access);
                case "DELETE" -> delete(request, access);
                default -> refuse(405, "invalid", "Use POST, GET or DELETE.");
            };
        } catch (CaissonException e) {
            return refuse(e);
        }
    }

    private static void version(HttpRequest request) {
        String version = request.header().apply("MCP-Protocol-Version");
        if (version != null && !Protocol.VERSIONS.contains(version)) {
            throw CaissonException.invalid(
                            "MCP-Protocol-Version",
                            "The version '" + Words.plain(version) + "' is not spoken here.")
                    .withDetail("allowed", String.join(", ", Protocol.VERSIONS));
        }
    }

    private HttpAnswer post(HttpRequest request, Gate.Access access) throws IOException {
        if (!accepts(request, JSON) || !accepts(request, EVENTS)) {
            return refuse(406, "invalid", "Accept both " + JSON + " and " + EVENTS + ".");
        }
        String type = request.header().apply("Content-Type");
        if (type == null || !type.split(";", -1)[0].strip().equalsIgnoreCase(JSON)) {
            return refuse(415, "invalid", "Send " + JSON + ".");
        }
        byte[] body = request.body().readNBytes(RpcReader.MAX_BYTES + 1);
        if (body.length > RpcReader.MAX_BYTES) {
            throw CaissonException.of(
                    ErrorCode.TOO_LARGE,
                    "A message has at most " + RpcReader.MAX_BYTES + " bytes.");
        }
        RpcReader.Batch batch = RpcReader.read(body);
        if (batch.messages().getFirst() instanceof RpcMessage.Request first
                && first.method().equals("initialize")
                && !batch.batch()
                && request.header().apply(SESSION) == null) {
            return initialize(first, access);
        }
        HttpSession session = sessions.find(request.header().apply(SESSION), access.owner());
        if (batch.batch() && !session.session().takesBatches()) {
            return rpcError(400, Rpc.INVALID_REQUEST, "This version has no batches.");
        }
        return receive(session, batch.messages());
    }

    private HttpAnswer initialize(RpcMessage.Request request, Gate.Access access) {
        HttpSession session = sessions.open(access);
        Collected answer = new Collected();
        session.session().receive(request, answer);
        if (!session.session().initialized()) {
            sessions.close(session);
        }
        return new HttpAnswer.Whole(
                200,
                Map.of("Content-Type", JSON, SESSION, session.id()),
                Json.bytes(answer.messages.getFirst()));
    }

    private HttpAnswer receive(HttpSession session, List<RpcMessage> messages) {
        int answers = 0;
        boolean slow = messages.size() > 1;
        for (RpcMessage message : messages) {
            switch (message) {
                case RpcMessage.Request request -> {
                    answers++;
                    slow |= request.method().equals("tools/call");
                }
                case RpcMessage.Invalid invalid -> {
                    if (messages.size() == 1) {
                        return rpcError(400, invalid.code(), invalid.message());
                    }
                    answers++;
                }
                case RpcMessage.Notification notification -> {}
                case RpcMessage.Response response -> {}
            }
        }
        if (answers > 0 && slow) {
            sessions.requireStream(session);
            EventStream stream = session.open(answers);
            messages.forEach(message -> session.session().receive(message, stream));
            return events(session, sink -> stream.writeTo(sink, session.primed()));
        }
        Collected answer = new Collected();
        messages.forEach(message -> session.session().receive(message, answer));
        return answer.messages.isEmpty()
                ? new HttpAnswer.Whole(202, Map.of(), new byte[0])
                : new HttpAnswer.Whole(
                        200, Map.of("Content-Type", JSON), Json.bytes(answer.messages.getFirst()));
    }

    private static HttpAnswer events(HttpSession session, HttpAnswer.Source source) {
        Map<String, String> headers =
                Map.of(
                        "Content-Type",
                        EVENTS,
                        "Cache-Control",
                        "no-store",
                        "X-Accel-Buffering",
                        "no",
                        SESSION,
                        session.id());
        return new HttpAnswer.Events(200, headers, source);
    }

    /** The stream of what belongs to no request, or one that broke. */
    private HttpAnswer get(HttpRequest request, Gate.Access access) {
        if (!accepts(request, EVENTS)) {
            return refuse(406, "invalid", "Accept " + EVENTS + ".");
        }
        HttpSession session = sessions.find(request.header().apply(SESSION), access.owner());
        sessions.requireStream(session);
        String last = request.header().apply("Last-Event-ID");
        if (last == null || last.isEmpty()) {
            session.resume(0);
            return events(session, sink -> session.general().writeTo(sink, session.primed()));
        }
        String[] parts = last.split("-", -1);
        Optional<EventStream> stream =
                last.matches("[0-9]{1,15}-[0-9]{1,9}")
                        ? session.resume(Long.parseLong(parts[0]))
                        : Optional.empty();
        if (stream.isEmpty()) {
            return refuse(404, "not_found", "That event is not kept any more.");
        }
        int after = Integer.parseInt(parts[1]);
        return events(session, sink -> stream.get().writeTo(sink, after));
    }

    private HttpAnswer delete(HttpRequest request, Gate.Access access) {
        sessions.close(sessions.find(request.header().apply(SESSION), access.owner()));
        return new HttpAnswer.Whole(204, Map.of(), new byte[0]);
    }

    private static boolean accepts(HttpRequest request, String type) {
        String accept = request.header().apply("Accept");
        if (accept == null) {
            return false;
        }
        for (String one : accept.toLowerCase(Locale.ROOT).split(",", -1)) {
            String range = one.split(";", -1)[0].strip();
            String family = type.substring(0, type.indexOf('/')) + "/*";
            if (range.equals(type) || range.equals("*/*") || range.equals(family)) {
                return true;
            }
        }
        return false;
    }

    private static HttpAnswer refuse(CaissonException e) {
        Map<String, String> headers =
                switch (e.code()) {
                    case UNAUTHENTICATED ->
                            Map.of("Content-Type", JSON, "WWW-Authenticate", "Bearer");
                    case QUOTA_EXCEEDED, NO_CAPACITY ->
                            Map.of("Content-Type", JSON, "Retry-After", "5");
                    default -> Map.of("Content-Type", JSON);
                };
        ObjectNode body = Rpc.object().set("error", Rpc.tree(ToolResult.form(e)));
        return new HttpAnswer.Whole(e.code().httpStatus(), headers, Json.bytes(body));
    }

    private static HttpAnswer refuse(int status, String code, String message) {
        ErrorJson error = new ErrorJson(code, message, null, null, false, Map.of());
        byte[] body = Json.bytes(Rpc.object().set("error", Rpc.tree(error)));
        Map<String, String> headers =
                status == 405
                        ? Map.of("Content-Type", JSON, "Allow", "POST, GET, DELETE")
                        : Map.of("Content-Type", JSON);
        return new HttpAnswer.Whole(status, headers, body);
    }

    private static HttpAnswer rpcError(int status, int code, String message) {
        byte[] body = Json.bytes(Rpc.error(null, code, message));
        return new HttpAnswer.Whole(status, Map.of("Content-Type", JSON), body);
    }

    /** Ends all sessions, and their sandboxes. */
    @Override
    public void close() {
        sessions.close();
    }

    /** Takes answers that come before the message has been handled. */
    private static final class Collected implements Outbox {
        private final List<ObjectNode> messages = new ArrayList<>();

        @Override
        public void send(ObjectNode message) {
            messages.add(message);
        }
    }
}
