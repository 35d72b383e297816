package dev.caisson.control;

import dev.caisson.api.Usage;
import dev.caisson.core.EngineSandbox;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Usage by the hour. Sums are exact over crashes: what a session has used in all comes from its
 * cgroups, and only the difference to what is stored is added. Thread-safe.
 *
 * <p>Only the server that has a session counts it, and a session's last word reads what is stored
 * within its own transaction, so it is right whatever was written before. That asks of the store
 * that the works of one server behave as if they ran one after the other.
 */
final class Meter {
    /** How often sandboxes are to be observed. */
    static final Duration INTERVAL = Duration.ofSeconds(10);

    private static final Instant FIRST = Instant.EPOCH;

    private final Ledger ledger;
    private final Map<String, Session> sessions = new ConcurrentHashMap<>();

    Meter(Ledger ledger) {
        this.ledger = ledger;
    }

    /** Of one session on this server. */
    interface Tracker {
        /** What it has used so far; added in the background, together with others. */
        void observed(EngineSandbox.Observation observation);

        /** Its last word, within the transaction that ends it. */
        void ended(Store.Tx tx, Usage usage);
    }

    /** Of a session, new or found again. */
    Tracker track(String tenant, String sandbox, String session) {
        return sessions.computeIfAbsent(session, id -> new Session(tenant, sandbox, id));
    }

    /** No longer counted by this server: it was handed over, or was lost without a last word. */
    void forget(String session) {
        sessions.remove(session);
    }

    /** What was seen at one time. */
    private record Seen(Usage usage, long disk, Instant at) {}

    /** What a flush will have stored. */
    private record Next(Spent spent, Seen seen) {}

    private final class Session implements Tracker {
        private final String tenant;
        private final String sandbox;
        private final String session;

        private volatile @Nullable Seen seen;
        private volatile boolean ended;

        /** What is stored; null: to be read. Of the thread that flushes. */
        private volatile @Nullable Spent stored;

        Session(String tenant, String sandbox, String session) {
            this.tenant = tenant;
            this.sandbox = sandbox;
            this.session = session;
        }

        @Override
        public void observed(EngineSandbox.Observation observation) {
            seen = new Seen(observation.usage(), observation.disk().bytes(), ledger.now());
        }

        @Override
        public void ended(Store.Tx tx, Usage usage) {
            ended = true;
            add(tx, read(tx), new Seen(usage, usage.disk().bytes(), ledger.now()));
            sessions.remove(session, this);
        }

        private Spent read(Store.Tx tx) {
            Spent sum = Spent.NONE;
            for (UsageRow row : rows(tx, tenant, sandbox, FIRST, "session")) {
                if (session.equals(row.session())) {
                    sum = sum.plus(row);
                }
            }
            return sum;
        }

        private Spent add(Store.Tx tx, Spent before, Seen now) {
            Spent after = before.until(now.usage(), now.disk());
            after.since(before, now.at(), tenant, sandbox, session).forEach(tx::addUsage);
            return after;
        }

        /** Nothing when there is nothing new, or it has had its last word. */
        private @Nullable Next flush(Store.Tx tx) {
            Seen now = seen;
            if (now == null || ended) {
                return null;
            }
            Spent before = stored;
            return new Next(add(tx, before == null ? read(tx) : before, now), now);
        }

        private void flushed(@Nullable Next next) {
            if (next != null) {
                stored = next.spent();
                if (next.seen().equals(seen)) {
                    seen = null;
                }
            }
        }

        /** CPU time that was seen and is not stored. */
        private long unstoredCpu() {
            Seen now = seen;
            Spent before = stored;
            return now == null || before == null
                    ? 0
                    : Math.max(0, now.usage().cpu().toMillis() - before.cpuMillis());
        }
    }

    private List<UsageRow> rows(
            Store.Tx tx, String tenant, @Nullable String sandbox, Instant from, String by) {
        Instant to = ledger.now().plus(1, ChronoUnit.HOURS);
        return tx.usage(tenant, sandbox, from, to, by, Integer.MAX_VALUE);
    }

    /**
     * Adds an exec that ended, within its transaction. What it used is in its session's sums by
     * their own observation; output and number of execs are only known from here.
     */
    void exec(Store.Tx tx, Ledger.Subject about, Usage usage, long outputBytes) {
        Instant hour = ledger.now().truncatedTo(ChronoUnit.HOURS);
        tx.addUsage(
                new UsageRow(
                        hour,
                        about.tenant(),
                        about.sandbox(),
                        about.session(),
                        about.exec(),
                        usage.cpu().toMillis(),
                        usage.memoryByteSeconds(),
                        0,
                        usage.egress().bytes(),
                        outputBytes,
                        usage.wall().toMillis(),
                        1));
        tx.addUsage(
                new UsageRow(
                        hour,
                        about.tenant(),
                        about.sandbox(),
                        about.session(),
                        null,
                        0,
                        0,
                        0,
                        0,
                        outputBytes,
                        0,
                        1));
    }

    /** Writes what was observed, in one transaction; called by a timer. */
    synchronized void flush() {
        List<Session> all =
                sessions.values().stream().filter(session -> session.seen != null).toList();
        if (all.isEmpty()) {
            return;
        }
        boolean written = false;
        try {
            Map<Session, @Nullable Next> next = ledger.write(tx -> flush(tx, all));
            next.forEach(Session::flushed);
            written = true;
        } finally {
            if (!written) {
                // Nobody knows whether it is stored: read again.
                all.forEach(session -> session.stored = null);
            }
        }
    }

    private static Map<Session, @Nullable Next> flush(Store.Tx tx, List<Session> all) {
        Map<Session, @Nullable Next> next = new HashMap<>();
        all.forEach(session -> next.put(session, session.flush(tx)));
        return next;
    }

    /** What a tenant has used in the present hour, with what is not stored yet. */
    Hour hour(String tenant) {
        Instant from = ledger.now().truncatedTo(ChronoUnit.HOURS);
        long cpu = 0;
        long output = 0;
        for (UsageRow row : ledger.read(tx -> rows(tx, tenant, null, from, "tenant"))) {
            cpu += row.cpuMillis();
            output += row.outputBytes();
        }
        for (Session session : sessions.values()) {
            cpu += session.tenant.equals(tenant) ? session.unstoredCpu() : 0;
        }
        return new Hour(cpu, output);
    }
}
