package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Turns of requests at the content of volumes: many readers or one writer of each, in the order in
 * which they came. Thread-safe.
 */
final class VolumeTurns {
    private static final int READERS = 64;

    private final Duration patience;
    private final ConcurrentHashMap<String, Queue> queues = new ConcurrentHashMap<>();

    VolumeTurns(Duration patience) {
        this.patience = patience;
    }

    /** Of one volume, as long as somebody is in it. */
    private static final class Queue {
        final Semaphore places = new Semaphore(READERS, true);

        /** Changed by the map's own operations only. */
        int inside;
    }

    /** A turn that lasts until it is closed. */
    interface Turn extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Waits for a turn.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} when it took too long
     */
    Turn take(String volume, boolean writes) {
        Queue queue =
                queues.compute(
                        volume,
                        (id, known) -> {
                            Queue found = known == null ? new Queue() : known;
                            found.inside++;
                            return found;
                        });
        int places = writes ? READERS : 1;
        if (!taken(queue, places)) {
            leave(volume);
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "Other requests are at the content of the volume " + volume + ".")
                    .withRemedy("Try again when they are done.")
                    .withDetail("volume", volume);
        }
        return () -> {
            queue.places.release(places);
            leave(volume);
        };
    }

    private boolean taken(Queue queue, int places) {
        try {
            return queue.places.tryAcquire(places, patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void leave(String volume) {
        queues.computeIfPresent(volume, (id, queue) -> --queue.inside == 0 ? null : queue);
    }

    /** Volumes that somebody is at. */
    int size() {
        return queues.size();
    }
}
