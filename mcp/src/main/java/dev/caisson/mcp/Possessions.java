package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session made and ends with it: sandboxes, and runs in the background. */
final class Possessions {
    private static final Logger LOG = LoggerFactory.getLogger(Possessions.class);

    private final Backend backend;

    // Guarded by this.
    private final Map<String, Runnable> owned = new LinkedHashMap<>();
    private boolean released;

    Possessions(Backend backend) {
        this.backend = backend;
    }

    void sandbox(String id) {
        own(id, () -> backend.delete(id));
    }

    void run(Work work) {
        own(work.id(), work::kill);
    }

    /** Takes it over; ends it at once when the session has ended meanwhile. */
    private void own(String id, Runnable end) {
        synchronized (this) {
            if (!released) {
                owned.put(id, end);
                return;
            }
        }
        quietly(id, end);
        throw CaissonException.of(ErrorCode.CANCELLED, "The session has ended.");
    }

    /** It was deleted, or is over. */
    synchronized void forget(String id) {
        owned.remove(id);
    }

    /** Ends all of it, side by side; waits at most that long. */
    void release(Duration longest) {
        Map<String, Runnable> all;
        synchronized (this) {
            released = true;
            all = new LinkedHashMap<>(owned);
            owned.clear();
        }
        List<Thread> threads = new ArrayList<>();
        all.forEach((id, end) ->
                threads.add(
                        Thread.ofVirtual().name("mcp-end-" + id).start(() -> quietly(id, end))));
        long until = System.nanoTime() + longest.toNanos();
        try {
            for (Thread thread : threads) {
                long left = until - System.nanoTime();
                if (left <= 0 || !thread.join(Duration.ofNanos(left))) {
                    LOG.warn("not ended in time; its lease will thread={}", thread.getName());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void quietly(String id, Runnable end) {
        try {
            end.run();
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.NOT_FOUND && e.code() != ErrorCode.SANDBOX_ENDED) {
                LOG.warn("not ended; its lease will id={} code={}", id, e.code().value(), e);
            }
        }
    }
}
