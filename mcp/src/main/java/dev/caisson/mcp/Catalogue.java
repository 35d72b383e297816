package dev.caisson.mcp;

import dev.caisson.core.Interpreters;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The definitions of the tools, as in {@code tools.json}. */
final class Catalogue {
    private static final ObjectNode SOURCE = load();

    private Catalogue() {}

    private static ObjectNode load() {
        try (InputStream in = Catalogue.class.getResourceAsStream("tools.json")) {
            if (in == null) {
                throw new IllegalStateException("tools.json is missing in the program.");
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return (ObjectNode)
                    Json.LENIENT.readTree(text.replace("@LANGUAGES@", Interpreters.names()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The tools as {@code tools/list} gives them; by name, in order. */
    static Map<String, ObjectNode> tools(String version) {
        Map<String, ObjectNode> tools = new LinkedHashMap<>();
        for (JsonNode source : SOURCE.path("tools")) {
            ObjectNode tool = (ObjectNode) source.deepCopy();
            String output = tool.remove("output").asString();
            if (Protocol.structured(version)) {
                ObjectNode schema = (ObjectNode) SOURCE.path("outputs").path(output).deepCopy();
                schema.set("$defs", SOURCE.path("definitions").deepCopy());
                tool.set("outputSchema", schema);
            }
            tools.put(tool.path("name").asString(), tool);
        }
        return tools;
    }

    /** One tool of the newest version. */
    static Optional<ObjectNode> tool(String name) {
        return Optional.ofNullable(tools(Protocol.VERSIONS.getFirst()).get(name));
    }

    static ObjectNode list(String version) {
        ObjectNode result = Rpc.object();
        ArrayNode items = result.putArray("tools");
        tools(version).values().forEach(items::add);
        return result;
    }
}
