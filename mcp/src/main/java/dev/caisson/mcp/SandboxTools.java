package dev.caisson.mcp;

import static dev.caisson.mcp.Arguments.required;

import dev.caisson.v1.Page;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** The tools that make, list and end sandboxes. */
final class SandboxTools {
    private final Backend backend;
    private final Possessions possessions;

    SandboxTools(Backend backend, Possessions possessions) {
        this.backend = backend;
        this.possessions = possessions;
    }

    ToolResult create(Call call, ObjectNode given) {
        Arguments.CreateSandbox asked = Arguments.read(given, Arguments.CreateSandbox.class);
        Long millis = asked.timeoutMillis();
        @Nullable Duration timeout = millis == null ? null : Duration.ofMillis(millis);
        Map<String, String> labels = asked.labels() == null ? Map.of() : asked.labels();
        SandboxJson made = backend.create(asked.name(), labels, timeout);
        possessions.sandbox(made.id());
        call.onCancel(() -> {
            backend.delete(made.id());
            possessions.forget(made.id());
        });
        return ToolResult.of(Rpc.tree(made))
                .says(
                        "Made sandbox "
                                + made.id()
                                + ". It ends with this session"
                                + (made.endsAt() == null
                                        ? "."
                                        : ", at " + made.endsAt() + " at the latest."));
    }

    ToolResult list(Call call, ObjectNode given) {
        Arguments.ListSandboxes asked = Arguments.read(given, Arguments.ListSandboxes.class);
        Map<String, String> labels = asked.labels() == null ? Map.of() : asked.labels();
        int limit = asked.limit() == null ? 50 : asked.limit();
        Page<SandboxJson> page = backend.list(labels, limit, asked.cursor());
        StringBuilder text = new StringBuilder().append(page.items().size()).append(" sandboxes.");
        for (SandboxJson one : page.items()) {
            text.append('\n').append(one.id()).append(' ').append(one.state());
            if (one.name() != null) {
                text.append(' ').append(Words.plain(one.name()));
            }
        }
        return ToolResult.of(Rpc.tree(page)).says(text.toString());
    }

    ToolResult delete(Call call, ObjectNode given) {
        Arguments.DeleteSandbox asked = Arguments.read(given, Arguments.DeleteSandbox.class);
        String sandbox = required("sandbox", asked.sandbox());
        backend.delete(sandbox);
        possessions.forget(sandbox);
        return ToolResult.of(Rpc.object().put("deleted", sandbox))
                .says("Deleted " + Words.plain(sandbox) + ".");
    }
}
