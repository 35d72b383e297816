package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import java.util.Map;
import java.util.function.BiFunction;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Finds the tool of a call and makes its outcome an answer. */
final class Tools {
    private final Map<String, BiFunction<Call, ObjectNode, ToolResult>> tools;

    Tools(Backend backend, Possessions possessions, SessionSettings settings) {
        RunTools runs = new RunTools(backend, possessions, settings);
        FileTools files = new FileTools(backend);
        SandboxTools sandboxes = new SandboxTools(backend, possessions);
        tools =
                Map.ofEntries(
                        Map.entry("run_code", runs::runCode),
                        Map.entry("run_command", runs::runCommand),
                        Map.entry("get_output", runs::getOutput),
                        Map.entry("stop", runs::stop),
                        Map.entry("write_file", files::write),
                        Map.entry("read_file", files::read),
                        Map.entry("list_files", files::list),
                        Map.entry("delete_file", files::delete),
                        Map.entry("create_sandbox", sandboxes::create),
                        Map.entry("list_sandboxes", sandboxes::list),
                        Map.entry("delete_sandbox", sandboxes::delete));
    }

    ObjectNode list(String version) {
        return Catalogue.list(version);
    }

    /** The whole message that answers a call. */
    ObjectNode answer(Call call) {
        JsonNode id = call.request().id();
        ObjectNode params = call.request().params();
        String name = params.path("name").asString("");
        BiFunction<Call, ObjectNode, ToolResult> tool = tools.get(name);
        if (tool == null) {
            return Rpc.error(
                    id, Rpc.INVALID_PARAMS, "There is no tool '" + Words.plain(name) + "'.");
        }
        JsonNode arguments = params.path("arguments");
        if (!arguments.isMissingNode() && !arguments.isObject()) {
            return Rpc.error(id, Rpc.INVALID_PARAMS, "The field 'arguments' is not an object.");
        }
        ObjectNode given = arguments instanceof ObjectNode fields ? fields : Rpc.object();
        return Rpc.result(id, run(tool, call, given).form(call.session().version()));
    }

    private static ToolResult run(
            BiFunction<Call, ObjectNode, ToolResult> tool, Call call, ObjectNode given) {
        try {
            return tool.apply(call, given);
        } catch (CaissonException e) {
            return ToolResult.failed(e);
        }
    }
}
