package dev.caisson.mcp;

import dev.caisson.v1.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Makes messages of JSON-RPC 2.0. */
final class Rpc {
    static final int PARSE_ERROR = -32700;
    static final int INVALID_REQUEST = -32600;
    static final int METHOD_NOT_FOUND = -32601;
    static final int INVALID_PARAMS = -32602;
    static final int INTERNAL_ERROR = -32603;

    /** Our own, of the range for servers: too much at once. */
    static final int BUSY = -32000;

    private Rpc() {}

    static ObjectNode object() {
        return Json.LENIENT.createObjectNode();
    }

    static ArrayNode array() {
        return Json.LENIENT.createArrayNode();
    }

    static ObjectNode tree(Object form) {
        return Json.LENIENT.valueToTree(form);
    }

    static ObjectNode result(JsonNode id, ObjectNode result) {
        ObjectNode message = message();
        message.set("id", id);
        message.set("result", result);
        return message;
    }

    static ObjectNode error(@Nullable JsonNode id, int code, String text) {
        ObjectNode message = message();
        if (id == null) {
            message.putNull("id");
        } else {
            message.set("id", id);
        }
        message.putObject("error").put("code", code).put("message", text);
        return message;
    }

    static ObjectNode request(String id, String method, ObjectNode params) {
        ObjectNode message = notification(method, params);
        message.put("id", id);
        return message;
    }

    static ObjectNode notification(String method, ObjectNode params) {
        ObjectNode message = message();
        message.put("method", method);
        message.set("params", params);
        return message;
    }

    private static ObjectNode message() {
        return object().put("jsonrpc", "2.0");
    }
}
