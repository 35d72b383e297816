package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What is kept of all execs of a sandbox. Thread-safe. */
final class Logs implements LogService {
    private static final int MAX_EXECS = 1000;
    private static final long LOOK_MILLIS = 250;
    private static final int KEEPALIVES = 60;

    private final Parts parts;
    private final Execs execs;

    Logs(Parts parts, Execs execs) {
        this.parts = parts;
        this.execs = execs;
    }

    @Override
    public void read(Caller caller, String sandbox, boolean follow, Follower follower)
            throws IOException {
        Access.require(caller, "logs:read");
        Row row = parts.boxes().row(caller, sandbox);
        String id = row.id();
        if (parts.boxes().of(id).isEmpty() && !SandboxDoc.of(row).over()) {
            parts.boxes().living(caller, id); // says where it is
        }
        if (follow) {
            follow(caller, id, new Turns(follower));
            return;
        }
        for (String exec : fresh(caller, id, Set.of())) {
            execs.kept(caller, exec, item -> follower.accept(of(exec, item)));
        }
    }

    /** Items of several execs, one at a time; the first failure ends all. */
    private static final class Turns implements Follower {
        private final ReentrantLock lock = new ReentrantLock();
        private final Follower follower;
        private volatile @Nullable IOException failure;

        Turns(Follower follower) {
            this.follower = follower;
        }

        @Override
        public void accept(StreamItem item) throws IOException {
            lock.lock();
            try {
                check();
                follower.accept(item);
            } catch (IOException e) {
                failure = e;
                throw e;
            } finally {
                lock.unlock();
            }
        }

        void check() throws IOException {
            IOException failed = failure;
            if (failed != null) {
                throw failed;
            }
        }
    }

    private void follow(Caller caller, String sandbox, Turns turns) throws IOException {
        Set<String> told = new HashSet<>();
        List<Thread> threads = new ArrayList<>();
        int quiet = 0;
        try {
            boolean over = false;
            while (!over) {
                over = parts.boxes().of(sandbox).isEmpty();
                for (String exec : fresh(caller, sandbox, told)) {
                    quiet = 0;
                    told.add(exec);
                    threads.add(tell(caller, exec, turns));
                }
                turns.check();
                threads.removeIf(thread -> !thread.isAlive());
                if (++quiet >= KEEPALIVES) {
                    quiet = 0;
                    turns.accept(own("keepalive", null));
                }
                pause();
            }
            for (Thread thread : threads) {
                join(thread);
            }
            turns.check();
            turns.accept(own("exit", sandbox));
        } finally {
            threads.forEach(Thread::interrupt);
        }
    }

    private Thread tell(Caller caller, String exec, Turns turns) {
        return Thread.ofVirtual()
                .name("caisson-log-" + exec)
                .start(() -> {
                    try {
                        execs.followOwn(caller, exec, null, item -> turns.accept(of(exec, item)));
                    } catch (IOException | CaissonException e) {
                        // The client is gone: told by the next turn; or the exec was forgotten.
                    }
                });
    }

    private static void join(Thread thread) throws IOException {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted while following.", e);
        }
    }

    /** An item of the stream itself, and of no exec. */
    private StreamItem own(String type, @Nullable String sandbox) {
        return new StreamItem(
                "0",
                parts.ledger().now(),
                type,
                null,
                null,
                null,
                null,
                null,
                null,
                sandbox,
                null,
                null,
                null,
                null,
                null,
                null);
    }

    /** Execs that were not told, oldest first. */
    private List<String> fresh(Caller caller, String sandbox, Set<String> told) {
        Query query = Query.of(caller.tenant()).withParent(sandbox).withPage(null, MAX_EXECS);
        List<String> ids =
                new ArrayList<>(
                        parts.ledger().read(tx -> tx.list(Kind.EXEC, query)).stream()
                                .map(Row::id)
                                .filter(id -> !told.contains(id))
                                .toList());
        Collections.reverse(ids);
        return ids;
    }

    private static void pause() throws IOException {
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted while following.", e);
        }
    }

    private static StreamItem of(String exec, StreamItem item) {
        return new StreamItem(
                item.id(),
                item.time(),
                item.type(),
                item.text(),
                item.base64(),
                item.offset(),
                item.bytes(),
                item.fd(),
                exec,
                item.sandbox(),
                item.run(),
                item.pid(),
                item.limit(),
                item.denied(),
                item.result(),
                item.error());
    }
}
