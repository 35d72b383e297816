package dev.caisson.mcp;

import dev.caisson.v1.Json;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Reads messages of JSON-RPC 2.0 from a hostile peer: never throws, and what is wrong comes as
 * {@link RpcMessage.Invalid}. Nesting ends at 64, a batch at 64 messages; the caller limits bytes.
 */
final class RpcReader {
    static final int MAX_BYTES = 16 << 20;
    private static final int MAX_BATCH = 64;
    private static final int MAX_ID = 256;

    private RpcReader() {}

    /**
     * What a text holds.
     *
     * @param messages at least one
     * @param batch whether they came as an array
     */
    record Batch(List<RpcMessage> messages, boolean batch) {
        Batch {
            messages = List.copyOf(messages);
        }
    }

    static Batch read(byte[] bytes) {
        JsonNode tree;
        try {
            String text =
                    StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            tree = Json.STRICT.readTree(text);
        } catch (CharacterCodingException e) {
            return one(invalid(null, Rpc.PARSE_ERROR, "The message is not UTF-8."));
        } catch (JacksonException e) {
            return one(
                    invalid(
                            null,
                            Rpc.PARSE_ERROR,
                            "The message is not valid JSON: " + e.getOriginalMessage()));
        }
        if (!tree.isArray()) {
            return one(message(tree));
        }
        if (tree.isEmpty() || tree.size() > MAX_BATCH) {
            return one(
                    invalid(
                            null,
                            Rpc.INVALID_REQUEST,
                            "A batch holds 1 to " + MAX_BATCH + " messages."));
        }
        List<RpcMessage> messages = new ArrayList<>();
        tree.forEach(node -> messages.add(message(node)));
        return new Batch(messages, true);
    }

    private static Batch one(RpcMessage message) {
        return new Batch(List.of(message), false);
    }

    private static RpcMessage message(JsonNode node) {
        if (!(node instanceof ObjectNode object)) {
            return invalid(null, Rpc.INVALID_REQUEST, "A message is a JSON object.");
        }
        JsonNode id = object.get("id");
        if (id != null && !isId(id)) {
            return invalid(
                    null,
                    Rpc.INVALID_REQUEST,
                    "An id is a whole number or a text of at most " + MAX_ID + " characters.");
        }
        if (!"2.0".equals(text(object.get("jsonrpc")))) {
            return invalid(id, Rpc.INVALID_REQUEST, "The field 'jsonrpc' is not \"2.0\".");
        }
        return object.has("method") ? call(object, id) : response(object, id);
    }

    private static RpcMessage call(ObjectNode object, @Nullable JsonNode id) {
        String method = text(object.get("method"));
        if (method == null) {
            return invalid(id, Rpc.INVALID_REQUEST, "The field 'method' is not a text.");
        }
        JsonNode params = object.get("params");
        ObjectNode given;
        if (params == null) {
            given = Rpc.object();
        } else if (params instanceof ObjectNode fields) {
            given = fields;
        } else {
            return invalid(id, Rpc.INVALID_PARAMS, "The field 'params' is not an object.");
        }
        return id == null
                ? new RpcMessage.Notification(method, given)
                : new RpcMessage.Request(id, method, given);
    }

    private static RpcMessage response(ObjectNode object, @Nullable JsonNode id) {
        JsonNode result = object.get("result");
        JsonNode error = object.get("error");
        if (id == null || (result == null) == (error == null)) {
            return invalid(
                    null,
                    Rpc.INVALID_REQUEST,
                    "The message is neither a request, a notification nor a response.");
        }
        return new RpcMessage.Response(id, result, error);
    }

    private static boolean isId(JsonNode id) {
        return id.isString()
                ? id.stringValue().length() <= MAX_ID
                : id.isIntegralNumber() && id.canConvertToLong();
    }

    private static @Nullable String text(@Nullable JsonNode node) {
        return node != null && node.isString() ? node.stringValue() : null;
    }

    private static RpcMessage.Invalid invalid(@Nullable JsonNode id, int code, String message) {
        return new RpcMessage.Invalid(id, code, message);
    }
}
