package dev.caisson.mcp;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A message of JSON-RPC 2.0 that came in. Ids are text or whole numbers. */
public sealed interface RpcMessage {

    /** Wants an answer. */
    record Request(JsonNode id, String method, ObjectNode params) implements RpcMessage {}

    /** Wants none. */
    record Notification(String method, ObjectNode params) implements RpcMessage {}

    /** Answers a request of ours. */
    record Response(JsonNode id, @Nullable JsonNode result, @Nullable JsonNode error)
            implements RpcMessage {}

    /**
     * Is none of these.
     *
     * @param id of the request, where it could be told
     * @param code of JSON-RPC
     * @param message what is wrong, for people
     */
    record Invalid(@Nullable JsonNode id, int code, String message) implements RpcMessage {}
}
