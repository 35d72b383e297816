package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
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

    private static final int ROWS_AT_ONCE = 100;

    private static final Comparator<Begun.Exec> ORDER =
            Comparator.comparing(Begun.Exec::created).thenComparing(Begun.Exec::id);

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
        Telling telling = new Telling(after, follower);
        if (follow) {
            follow(caller, id, telling);
            return;
        }
        for (Begun.Exec exec : stored(caller, id, telling)) {
            String from = telling.begin(exec);
            execs.kept(caller, exec.id(), from, item -> telling.accept(exec.id(), item));
        }
    }

    /** Items of several execs, one at a time; the first failure ends all. */
    private final class Telling {
        private final ReentrantLock lock = new ReentrantLock();
        private final Follower follower;
        private final LogPlace start; // where the client was when it came
        private final LogPlace place; // guarded by lock
        private volatile @Nullable IOException failure;

        Telling(@Nullable String after, Follower follower) {
            this.start = LogPlace.of(after);
            this.place = LogPlace.of(after);
            this.follower = follower;
        }

        /** Whether the client had all of an exec when it came. */
        boolean past(Begun.Exec exec) {
            return start.past(exec.created().toEpochMilli(), exec.id());
        }

        /** Where to go on in an exec; null: from its start. */
        @Nullable String begin(Begun.Exec exec) {
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

        /** Nothing is to be told of an exec. */
        void forget(String exec) {
            lock.lock();
            try {
                place.end(exec);
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

    private void follow(Caller caller, String sandbox, Telling telling) throws IOException {
        Box box = parts.boxes().of(sandbox).orElse(null);
        long seen = box == null ? 0 : box.begun.count();
        Set<String> told = new HashSet<>();
        List<Thread> threads = new ArrayList<>();
        int quiet = 0;
        try {
            List<Begun.Exec> news = stored(caller, sandbox, telling);
            boolean over = false;
            while (true) {
                for (Begun.Exec exec : news) {
                    if (told.add(exec.id()) && !telling.past(exec)) {
                        quiet = 0;
                        threads.add(tell(caller, exec.id(), telling.begin(exec), telling));
                    }
                }
                telling.check();
                threads.removeIf(thread -> !thread.isAlive());
                if (over || box == null) {
                    break;
                }
                if (++quiet >= KEEPALIVES) {
                    quiet = 0;
                    telling.tell("keepalive", sandbox);
                }
                pause();
                over = parts.boxes().of(sandbox).isEmpty(); // then what comes now is the last
                Begun.Since since = box.begun.since(seen);
                seen = since.count();
                news = since.complete() ? since.execs() : stored(caller, sandbox, telling);
            }
            for (Thread thread : threads) {
                join(thread);
            }
            telling.tell("exit", sandbox);
        } finally {
            threads.forEach(Thread::interrupt);
        }
    }

    private Thread tell(Caller caller, String exec, @Nullable String after, Telling telling) {
        return Thread.ofVirtual()
                .name("caisson-log-" + exec)
                .start(() -> {
                    try {
                        execs.followOwn(caller, exec, after, item -> telling.accept(exec, item));
                    } catch (IOException | CaissonException e) {
                        // The client is gone: told by the next turn; or the exec was forgotten.
                        telling.forget(exec);
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
     * Execs that the client has not seen, oldest first; those whose start is on its way to the
     * store as well. What is older than the newest of them is told as a gap.
     */
    private List<Begun.Exec> stored(Caller caller, String sandbox, Telling telling)
            throws IOException {
        Map<String, Instant> all = new TreeMap<>(execs.runningIn(sandbox));
        int count = 0;
        Query.Place behind = null;
        boolean more = true;
        while (more && count < MAX_EXECS) {
            // A row may hold all that its exec wrote: few are in memory at a time.
            int most = Math.min(ROWS_AT_ONCE, MAX_EXECS - count);
            Query page = Query.of(caller.tenant()).withParent(sandbox).withPage(behind, most);
            List<Row> rows = parts.ledger().read(tx -> tx.list(Kind.EXEC, page));
            for (Row row : rows) {
                all.putIfAbsent(row.id(), row.created());
                behind = new Query.Place(row.created(), row.id());
            }
            count += rows.size();
            more = rows.size() == most;
        }
        if (more && behind != null && isMore(caller, sandbox, telling, behind)) {
            telling.tell("gap", sandbox);
        }
        return all.entrySet().stream()
                .map(entry -> new Begun.Exec(entry.getValue(), entry.getKey()))
                .filter(exec -> !telling.past(exec))
                .sorted(ORDER)
                .toList();
    }

    /** Whether there is something older that the client has not seen. */
    private boolean isMore(Caller caller, String sandbox, Telling telling, Query.Place behind) {
        if (telling.past(new Begun.Exec(behind.created(), behind.id()))) {
            return false;
        }
        Query next = Query.of(caller.tenant()).withParent(sandbox).withPage(behind, 1);
        return !parts.ledger().read(tx -> tx.list(Kind.EXEC, next)).isEmpty();
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
