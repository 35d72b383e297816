package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A tool call that runs. Its own thread does the work; the thread that reads the client's messages
 * cancels it.
 */
final class Call {
    private final McpSession session;
    private final RpcMessage.Request request;
    private final Outbox outbox;
    private final @Nullable JsonNode progressToken;

    // Guarded by this.
    private @Nullable Thread thread;
    private @Nullable Runnable undo;
    private boolean cancelled;
    private boolean finished;
    private long progress;

    Call(McpSession session, RpcMessage.Request request, Outbox outbox) {
        this.session = session;
        this.request = request;
        this.outbox = outbox;
        JsonNode token = request.params().path("_meta").get("progressToken");
        this.progressToken =
                token != null && (token.isString() || token.isIntegralNumber()) ? token : null;
    }

    RpcMessage.Request request() {
        return request;
    }

    McpSession session() {
        return session;
    }

    /** Starts the work in a virtual thread. */
    synchronized void start(Consumer<Call> work) {
        thread = Thread.ofVirtual().name("mcp-call-" + request.id()).start(() -> work.accept(this));
    }

    /** Ends what the call began; the client gets no answer. */
    void cancel() {
        Runnable begun;
        synchronized (this) {
            if (cancelled || finished) {
                return;
            }
            cancelled = true;
            begun = undo;
            if (thread != null) {
                thread.interrupt();
            }
        }
        if (begun != null) {
            undo(begun);
        }
    }

    private void undo(Runnable begun) {
        Thread.ofVirtual().name("mcp-cancel-" + request.id()).start(begun);
    }

    /** What a cancellation is to do from now on; done at once when it was cancelled already. */
    void onCancel(Runnable newUndo) {
        synchronized (this) {
            undo = newUndo;
            if (!cancelled) {
                return;
            }
        }
        undo(newUndo);
        throw CaissonException.of(ErrorCode.CANCELLED, "The call was cancelled.");
    }

    synchronized boolean cancelled() {
        return cancelled;
    }

    /** Whether the client wants to hear of progress. */
    boolean wantsProgress() {
        return progressToken != null;
    }

    /** Tells progress to a client that wants it; numbers only grow, as the protocol demands. */
    synchronized void progress(long millis, String text) {
        if (progressToken == null || finished || cancelled) {
            return;
        }
        progress = Math.max(progress + 1, millis);
        ObjectNode params = Rpc.object();
        params.set("progressToken", progressToken);
        params.put("progress", progress).put("message", text);
        outbox.send(Rpc.notification("notifications/progress", params));
    }

    /** Asks the user through the client. */
    CompletableFuture<RpcMessage.Response> elicit(ObjectNode params) {
        return session.ask(outbox, "elicitation/create", params);
    }

    /** Answers, unless it was cancelled; nothing else goes out for this call afterwards. */
    synchronized void finish(ObjectNode answer) {
        finished = true;
        if (!cancelled) {
            outbox.send(answer);
        }
        outbox.done();
    }
}
