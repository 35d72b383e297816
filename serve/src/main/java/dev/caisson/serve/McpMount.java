package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
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
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The Model Context Protocol at {@code /mcp}. Closing it ends its sessions. */
final class McpMount implements AutoCloseable {
    private static final String PATH = "/mcp";

    private final Control control;
    private final StreamableHttp mcp;
    private final ControlGate gate;

    /**
     * The mount.
     *
     * @param approverKey decides for users of sessions of its tenant; null: nobody does
     */
    McpMount(Control control, Set<String> origins, @Nullable String approverKey) {
        this.control = control;
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
        AtomicReference<@Nullable Caller> caller = new AtomicReference<>();
        HttpAnswer answer =
                mcp.handle(
                        new HttpRequest(visit.method(), visit::header, visit.body()),
                        () -> {
                            Caller asking = visit.caller();
                            caller.set(asking);
                            return gate.open(asking);
                        });
        switch (answer) {
            case HttpAnswer.Whole whole ->
                    visit.answer(whole.status(), whole.headers(), whole.body());
            case HttpAnswer.Events events -> {
                OutputStream output = visit.stream(events.status(), events.headers());
                Still still = new Still(caller.get());
                events.source()
                        .writeTo(bytes -> {
                            still.check();
                            output.write(bytes);
                        });
            }
        }
    }

    /** Looks each second whether who reads a stream may still; one thread. */
    private final class Still {
        private static final long LOOK_NANOS = 1_000_000_000;

        private final @Nullable Caller caller;
        private long last = System.nanoTime();

        Still(@Nullable Caller caller) {
            this.caller = caller;
        }

        void check() throws IOException {
            long now = System.nanoTime();
            if (caller == null || now - last < LOOK_NANOS) {
                return;
            }
            last = now;
            try {
                control.requireStill(caller);
            } catch (CaissonException e) {
                throw new IOException("The key of this stream is good no more.", e);
            }
        }
    }

    @Override
    public void close() {
        mcp.close();
    }
}
