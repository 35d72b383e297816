package dev.caisson.egress;

import java.util.HashMap;
import java.util.Map;

/**
 * Memory for bodies that are read whole: some for each sandbox and some for all, so that nobody can
 * bring the gateway down by asking for many long ones and reading none. Safe for use by several
 * threads.
 */
final class RewriteRoom {
    private static final long MIB = 1 << 20;
    // Its bytes, the copy while it grows, what is made of it and the reader's own.
    private static final int COPIES = 4;

    private final long all;
    private final long each;
    // Guarded by this.
    private final Map<String, Long> used = new HashMap<>();
    private long total;

    /** Room for one body of the longest kind in each sandbox, in a heap of 512 MiB. */
    RewriteRoom() {
        this(320 * MIB, (long) COPIES * AnswerFilter.Rewrite.MOST);
    }

    RewriteRoom(long all, long each) {
        this.all = all;
        this.each = each;
    }

    /** Of one body, to be closed when it was sent. */
    Place of(String sandbox) {
        return new Place(sandbox);
    }

    private synchronized boolean add(String sandbox, long bytes) {
        long now = used.getOrDefault(sandbox, 0L) + bytes;
        if (bytes > 0 && (now > each || total + bytes > all)) {
            return false;
        }
        total += bytes;
        if (now == 0) {
            used.remove(sandbox);
        } else {
            used.put(sandbox, now);
        }
        return true;
    }

    /** What one body takes. One thread. */
    final class Place implements AutoCloseable {
        private final String sandbox;
        private long taken;

        private Place(String sandbox) {
            this.sandbox = sandbox;
        }

        /**
         * More of it is read.
         *
         * @throws BadHttpException 503: there is no room for it now
         */
        void read(int bytes) throws BadHttpException {
            long more = (long) bytes * COPIES;
            if (!add(sandbox, more)) {
                throw new BadHttpException(503, "too many long answers at once, try again");
            }
            taken += more;
        }

        /** Only what was made of it is still there. */
        void made(int bytes) {
            long less = Math.min(taken, bytes) - taken;
            add(sandbox, less);
            taken += less;
        }

        @Override
        public void close() {
            add(sandbox, -taken);
            taken = 0;
        }
    }
}
