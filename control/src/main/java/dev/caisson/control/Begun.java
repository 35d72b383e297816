package dev.caisson.control;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The commands of a sandbox in the order in which they became known here, so that those who follow
 * need not ask the store again and again. Thread-safe.
 */
final class Begun {
    /** So many are remembered; who is further behind reads the store. */
    static final int REMEMBERED = 1024;

    private final Deque<Exec> last = new ArrayDeque<>(); // guarded by this
    private long count; // guarded by this
    private Instant newest = Instant.EPOCH; // guarded by this

    /** A command, by the order in which they are told. */
    record Exec(Instant created, String id) {}

    /**
     * What became known since a look.
     *
     * @param count where the next look begins
     * @param complete whether these are all
     */
    record Since(long count, List<Exec> execs, boolean complete) {}

    /** Makes something known together with its place in the order. */
    @FunctionalInterface
    interface Making {
        void known(Instant created);
    }

    /**
     * Adds a command that begins now.
     *
     * @param now of the clock, which may go back; what is later in the order has a later time, too
     * @param making makes it known; whoever is told of it here finds it there
     */
    synchronized void add(String id, Instant now, Making making) {
        Instant created = now.isAfter(newest.plusMillis(1)) ? now : newest.plusMillis(1);
        making.known(created);
        remember(new Exec(created, id));
    }

    /** Adds one that an earlier server began. */
    synchronized void adopt(String id, Instant created) {
        remember(new Exec(created, id));
    }

    private void remember(Exec exec) {
        newest = exec.created().isAfter(newest) ? exec.created() : newest;
        last.addLast(exec);
        count++;
        if (last.size() > REMEMBERED) {
            last.removeFirst();
        }
    }

    synchronized long count() {
        return count;
    }

    /** Those behind a count of earlier. */
    synchronized Since since(long seen) {
        long news = count - seen;
        if (news == 0) {
            return new Since(count, List.of(), true);
        }
        List<Exec> all = new ArrayList<>(last);
        int from = (int) Math.max(0, all.size() - news);
        return new Since(count, all.subList(from, all.size()), news <= all.size());
    }
}
