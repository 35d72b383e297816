package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What is kept of all execs of a sandbox. Thread-safe. */
final class Logs implements LogService {
    /** Older ones than these are a gap. */
    static final int MAX_EXECS = 1000;

    private static final long LOOK_MILLIS = 250;
    private static final int KEEPALIVES = 60;

    private final Parts parts;
    private final Execs execs;

    Logs(Parts parts, Execs execs) {
        this.parts = parts;
        this.execs = execs;
    }

    @Override
    public void read(
            Caller caller,
            String sandbox,
            boolean follow,
            @Nullable String after,
            Follower follower)
            throws IOException {
        Access.require(caller, "logs:read");
        Row row = parts.boxes().row(caller, sandbox);
        String id = row.id();
        if (parts.boxes().of(id).isEmpty() && !SandboxDoc.of(row).over()) {
            parts.boxes().living(caller, id); // says where it is
        }
        Turns turns = new Turns(LogPlace.of(after), follower);
        if (follow) {
            follow(caller, id, turns);
            return;
        }
        for (Exec exec : fresh(caller, id, turns, Set.of())) {
            String from = turns.begin(exec);
            execs.kept(caller, exec.id(), from, item -> turns.accept(exec.id(), item));
        }
    }

    /** An exec, by the order in which they are told. */
    private record Exec(Instant created, String id) {}

    /** Items of several execs, one at a time; the first failure ends all. */
    private final class Turns {
        private final ReentrantLock lock = new ReentrantLock();
        private final Follower follower;
        private final LogPlace place; // guarded by lock
        private volatile @Nullable IOException failure;

        Turns(LogPlace place, Follower follower) {
            this.place = place;
            this.follower = follower;
        }

        boolean past(Exec exec) {
            lock.lock();
            try {
                return place.past(exec.created().toEpochMilli(), exec.id());
            } finally {
                lock.unlock();
            }
        }

        /** Where to go on in an exec; null: from its start. */
        @Nullable String begin(Exec exec) {
            lock.lock();
            try {
                place.begin(exec.created().toEpochMilli(), exec.id());
                return place.after(exec.id());
            } finally {
                lock.unlock();
            }
        }

        void accept(String exec, StreamItem item) throws IOException {
            lock.lock();
            try {
                check();
                if (item.type().equals("exit")) {
                    place.end(exec);
                } else {
                    place.see(exec, item.id());
                }
                follower.accept(of(place.toString(), exec, item));
            } catch (IOException e) {
                failure = e;
                throw e;
            } finally {
                lock.unlock();
            }
        }

        /** An item that is of no exec. */
        void tell(String type, String sandbox) throws IOException {
            lock.lock();
            try {
                check();
                follower.accept(item(place.toString(), type, sandbox));
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
                for (Exec exec : fresh(caller, sandbox, turns, told)) {
                    quiet = 0;
                    told.add(exec.id());
                    threads.add(tell(caller, exec.id(), turns.begin(exec), turns));
                }
                turns.check();
                threads.removeIf(thread -> !thread.isAlive());
                if (++quiet >= KEEPALIVES) {
                    quiet = 0;
                    turns.tell("keepalive", sandbox);
                }
                pause();
            }
            for (Thread thread : threads) {
                join(thread);
            }
            turns.tell("exit", sandbox);
        } finally {
            threads.forEach(Thread::interrupt);
        }
    }

    private Thread tell(Caller caller, String exec, @Nullable String after, Turns turns) {
        return Thread.ofVirtual()
                .name("caisson-log-" + exec)
                .start(() -> {
                    try {
                        execs.followOwn(caller, exec, after, item -> turns.accept(exec, item));
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

    private StreamItem item(String id, String type, String sandbox) {
        return new StreamItem(
                id,
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

    /**
     * Execs that were not told, oldest first; those whose start is on its way to the store as well.
     * What is older than the newest of them is told as a gap.
     */
    private List<Exec> fresh(Caller caller, String sandbox, Turns turns, Set<String> told)
            throws IOException {
        Query query = Query.of(caller.tenant()).withParent(sandbox).withPage(null, MAX_EXECS + 1);
        Map<String, Instant> all = new TreeMap<>(execs.runningIn(sandbox));
        List<Row> rows = parts.ledger().read(tx -> tx.list(Kind.EXEC, query));
        rows.stream().limit(MAX_EXECS).forEach(row -> all.put(row.id(), row.created()));
        if (told.isEmpty() && rows.size() > MAX_EXECS && !turns.past(of(rows.getLast()))) {
            turns.tell("gap", sandbox);
        }
        return all.entrySet().stream()
                .map(entry -> new Exec(entry.getValue(), entry.getKey()))
                .filter(exec -> !told.contains(exec.id()) && !turns.past(exec))
                .sorted(java.util.Comparator.comparing(Exec::created).thenComparing(Exec::id))
                .toList();
    }

    private static Exec of(Row row) {
        return new Exec(row.created(), row.id());
    }

    private static void pause() throws IOException {
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted while following.", e);
        }
    }

    private static StreamItem of(String id, String exec, StreamItem item) {
        return new StreamItem(
                id,
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
