package dev.caisson.control;

import dev.caisson.core.Room;
import dev.caisson.v1.RunRequest;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A run of this server that is not over. */
final class LiveRun {
    /** Its exec, as soon as that is written; cancelled when there will be none. */
    final CompletableFuture<String> exec = new CompletableFuture<>();

    /** Its last document, durable. */
    final CompletableFuture<RunDoc> end = new CompletableFuture<>();

    /** Heap that its request and its result take. */
    final Room room = Room.detached();

    private volatile @Nullable RunRequest request; // until it was used, for its files are large
    private volatile RunDoc doc; // replaced, never changed
    private volatile @Nullable Box box;
    private volatile boolean cancelled;

    /**
     * A run.
     *
     * @param request null: it was found again
     */
    LiveRun(RunDoc doc, @Nullable RunRequest request) {
        this.doc = doc;
        this.request = request;
        room.owner(doc.tenant);
    }

    /** What was asked, once. */
    RunRequest asked() {
        RunRequest asked = request;
        request = null;
        if (asked == null) {
            throw new IllegalStateException("A run is performed once.");
        }
        return asked;
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
