package dev.caisson.control;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A run of this server that is not over. */
final class LiveRun {
    /** Its exec, as soon as that is written; cancelled when there will be none. */
    final CompletableFuture<String> exec = new CompletableFuture<>();

    /** Its last document, durable. */
    final CompletableFuture<RunDoc> end = new CompletableFuture<>();

    private volatile RunDoc doc; // replaced, never changed
    private volatile @Nullable Box box;
    private volatile boolean cancelled;

    LiveRun(RunDoc doc) {
        this.doc = doc;
    }

    RunDoc doc() {
        return doc;
    }

    /** Takes over what was written; by the run's own thread. */
    void written(RunDoc next) {
        doc = next;
    }

    /** Its sandbox is there. */
    void box(Box newBox) {
        box = newBox;
    }

    @Nullable Box box() {
        return box;
    }

    /** It is to end as soon as it can. */
    void cancel() {
        cancelled = true;
    }

    boolean cancelled() {
        return cancelled;
    }
}
