package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Set;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The definition of a tool in the forms of the usual model APIs, out of the same schema that MCP
 * clients get. Each call gives a new tree.
 */
public final class ToolForms {
    /** Words that the schema subset of Gemini's function declarations does not have. */
    private static final Set<String> BEYOND_OPENAPI =
            Set.of("additionalProperties", "maxProperties", "$defs");

    private ToolForms() {}

    /** An item of the list of tools in an OpenAI-compatible chat completion. */
    public static ObjectNode openAi(String tool) {
        ObjectNode form = Rpc.object().put("type", "function");
        ObjectNode function = form.putObject("function");
        describe(function, tool).set("parameters", schema(tool));
        return form;
    }

    /** An item of the list of tools in Anthropic's messages. */
    public static ObjectNode anthropic(String tool) {
        ObjectNode form = Rpc.object();
        describe(form, tool).set("input_schema", schema(tool));
        return form;
    }

    /** An item of {@code functionDeclarations} in a tool of Gemini. */
    public static ObjectNode gemini(String tool) {
        ObjectNode form = Rpc.object();
        ObjectNode schema = schema(tool);
        narrow(schema);
        describe(form, tool).set("parameters", schema);
        return form;
    }

    private static ObjectNode describe(ObjectNode form, String tool) {
        ObjectNode source = source(tool);
        return form.put("name", source.path("name").asString())
                .put("description", source.path("description").asString());
    }

    private static ObjectNode schema(String tool) {
        return (ObjectNode) source(tool).path("inputSchema");
    }

    private static ObjectNode source(String tool) {
        return Catalogue.tool(tool)
                .orElseThrow(() ->
                        CaissonException.of(
                                ErrorCode.NOT_FOUND, "There is no tool '" + tool + "'."));
    }

    private static void narrow(JsonNode schema) {
        if (schema instanceof ObjectNode object) {
            object.remove(BEYOND_OPENAPI);
        }
        schema.forEach(ToolForms::narrow);
    }
}
