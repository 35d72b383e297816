package dev.caisson.serve;

import dev.caisson.control.Control;
import dev.caisson.mcp.ControlGate;
import dev.caisson.mcp.HttpAnswer;
import dev.caisson.mcp.HttpRequest;
import dev.caisson.mcp.HttpSettings;
import dev.caisson.mcp.StreamableHttp;
import dev.caisson.server.Mount;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The Model Context Protocol at {@code /mcp}. Closing it ends its sessions. */
final class McpMount implements AutoCloseable {
    private static final String PATH = "/mcp";

    private final StreamableHttp mcp;
    private final ControlGate gate;

    /**
     * The mount.
     *
     * @param approverKey decides for users of sessions of its tenant; null: nobody does
     */
    McpMount(Control control, Set<String> origins, @Nullable String approverKey) {
        mcp = new StreamableHttp(HttpSettings.defaults().withOrigins(origins));
        gate = new ControlGate(control, approverKey);
    }

    Mount mount() {
        return new Mount(PATH, this::handle);
    }

    private void handle(Mount.Visit visit) throws IOException {
        if (!visit.path().equals(PATH)) {
            visit.answer(404, Map.of(), new byte[0]);
            return;
        }
        HttpAnswer answer =
                mcp.handle(
                        new HttpRequest(visit.method(), visit::header, visit.body()),
                        () -> gate.open(visit.caller()));
        switch (answer) {
            case HttpAnswer.Whole whole ->
                    visit.answer(whole.status(), whole.headers(), whole.body());
            case HttpAnswer.Events events -> {
                OutputStream output = visit.stream(events.status(), events.headers());
                events.source().writeTo(output::write);
            }
        }
    }

    @Override
    public void close() {
        mcp.close();
    }
}
