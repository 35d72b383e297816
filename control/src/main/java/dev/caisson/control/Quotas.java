package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Limits;
import dev.caisson.core.Engine;
import dev.caisson.v1.QuotaJson;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Quotas of tenants. Exact on this server, whatever comes at the same time; sandboxes of other
 * servers count as soon as their rows are there. Thread-safe.
 */
final class Quotas {
    private static final String[] ALIVE = {
        "creating", "running", "pausing", "paused", "resuming", "snapshotting", "ending"
    };
    private static final Set<Account.Sum> KEPT_AT_REST =
            Set.of(Account.Sum.SANDBOXES, Account.Sum.DISK);
    private static final Duration HOUR_READ = Duration.ofSeconds(1);
    private static final Duration TOLD = Duration.ofSeconds(1);

    private final Ledger ledger;
    private final Directory directory;
    private final Groups groups;
    private final Function<String, Hour> used;
    private final Map<String, Account> accounts = new ConcurrentHashMap<>();
    private final Recent<Hour> hours;
    private final Throttle told;

    /**
     * @param used what a tenant has used in the present hour; see {@link Meter#hour}
     */
    Quotas(Ledger ledger, Directory directory, Function<String, Hour> used) {
        this.ledger = ledger;
        this.directory = directory;
        this.used = used;
        this.groups = new Groups();
        this.hours = new Recent<>(ledger::now, HOUR_READ);
        this.told = new Throttle(ledger::now, TOLD);
    }

    /** What a living sandbox takes of its tenant's quotas until it is released, once. */
    interface Seat {
        /** Other limits, if they fit. */
        void change(Limits limits);

        /**
         * It is paused on its disk: only that and its place among the sandboxes count, until {@link
         * #change}.
         */
        void rest();

        void release();
    }

    /** Disk that is kept without a sandbox: a snapshot, a volume, files of a run. */
    interface Kept {
        /** Its size is another one, if that fits. */
        void change(ByteSize disk);

        void release();
    }

    /**
     * A seat for a new sandbox; counts as a start.
     *
     * @throws CaissonException {@link ErrorCode#QUOTA_EXCEEDED}, also for every method below; with
     *     {@code limit, requested, allowed, current, retryAfterMillis}
     */
    Seat take(String tenant, Limits limits) {
        QuotaJson quotas = directory.quotas(tenant);
        requireHour(tenant, quotas);
        Map<Account.Sum, Long> parts = Account.of(limits);
        long elsewhere = quotas.sandboxes() == null ? 0 : elsewhere(tenant);
        Account account = account(tenant);
        require(tenant, account.take(quotas, parts, elsewhere, true, ledger.now()));
        return new Taken(tenant, account, parts);
    }

    /** The seat of a sandbox that lives already: always given. */
    Seat adopt(String tenant, Limits limits) {
        Map<Account.Sum, Long> parts = Account.of(limits);
        Account account = account(tenant);
        account.add(parts, 1);
        return new Taken(tenant, account, parts);
    }

    /** Disk for a snapshot or a volume. */
    Kept keep(String tenant, ByteSize disk) {
        Map<Account.Sum, Long> parts = Map.of(Account.Sum.DISK, disk.bytes());
        Account account = account(tenant);
        QuotaJson quotas = directory.quotas(tenant);
        require(tenant, account.take(quotas, parts, 0, false, ledger.now()));
        return new Taken(tenant, account, parts);
    }

    /** The same of one that is there already: always given. */
    Kept adoptKept(String tenant, ByteSize disk) {
        Map<Account.Sum, Long> parts = Map.of(Account.Sum.DISK, disk.bytes());
        Account account = account(tenant);
        account.add(parts, 1);
        return new Taken(tenant, account, parts);
    }

    /**
     * Refuses an exec or run of a tenant whose hourly or running quotas are used up; else counts it
     * until closed.
     */
    AutoCloseable exec(String tenant) {
        QuotaJson quotas = directory.quotas(tenant);
        requireHour(tenant, quotas);
        Map<Account.Sum, Long> parts = Map.of(Account.Sum.EXECS, 1L);
        Account account = account(tenant);
        require(tenant, account.take(quotas, parts, 0, false, ledger.now()));
        return once(account, parts)::run;
    }

    /** The place of an exec that runs already: always given. */
    AutoCloseable adoptExec(String tenant) {
        Map<Account.Sum, Long> parts = Map.of(Account.Sum.EXECS, 1L);
        Account account = account(tenant);
        account.add(parts, 1);
        return once(account, parts)::run;
    }

    /** Bytes that a tenant's execs wrote; false when the quota of the hour is used up. */
    boolean output(String tenant, long bytes) {
        Long most = directory.quotas(tenant).outputBytesPerHour();
        if (most == null) {
            return true;
        }
        long sum = account(tenant).output(bytes, hour(tenant).outputBytes(), ledger.now());
        if (sum <= most) {
            return true;
        }
        tell(tenant, new Account.Refusal("outputBytesPerHour", bytes, most, sum, toNextHour()));
        return false;
    }

    /** Makes sure that the tenant's group has its ceilings in an engine; cheap when it has. */
    void group(Engine engine, String tenant) {
        groups.set(engine, tenant, directory.quotas(tenant));
    }

    /** Whether a tenant may begin anything. */
    boolean isActive(String tenant) {
        return directory.tenant(tenant).filter(Directory.Tenant::isActive).isPresent();
    }

    /** The tenant is gone from an engine. */
    void forget(Engine engine, String tenant) {
        groups.forget(engine, tenant);
    }

    /** Quotas or state of a tenant were changed: gives its groups the new ceilings. */
    void changed(String tenant) {
        groups.reset(tenant, directory.quotas(tenant));
        accounts.computeIfPresent(
                tenant,
                (id, account) ->
                        directory.tenant(id).isEmpty() && account.sum(Account.Sum.SANDBOXES) == 0
                                ? null
                                : account);
    }

    /** What a tenant takes here: for tests of what is left behind. */
    long taken(String tenant, Account.Sum sum) {
        return account(tenant).sum(sum);
    }

    private Account account(String tenant) {
        return accounts.computeIfAbsent(tenant, id -> new Account());
    }

    private long elsewhere(String tenant) {
        Query alive = Query.of(tenant).withStates(ALIVE);
        String node = ledger.store().node();
        return ledger.read(
                tx -> tx.count(Kind.SANDBOX, alive) - tx.count(Kind.SANDBOX, alive.withNode(node)));
    }

    private Hour hour(String tenant) {
        String hour = ledger.now().truncatedTo(ChronoUnit.HOURS).toString();
        return hours.get(tenant + "/" + hour, () -> used.apply(tenant));
    }

    private Duration toNextHour() {
        Instant now = ledger.now();
        return Duration.between(now, now.truncatedTo(ChronoUnit.HOURS).plus(1, ChronoUnit.HOURS));
    }

    /** Whether the CPU time of the hour is used up; says so once a minute. */
    boolean cpuSpent(String tenant) {
        Long most = directory.quotas(tenant).cpuSecondsPerHour();
        if (most == null) {
            return false;
        }
        long seconds = hour(tenant).cpuMillis() / 1000;
        if (seconds < most) {
            return false;
        }
        tell(tenant, new Account.Refusal("cpuSecondsPerHour", 1, most, seconds, toNextHour()));
        return true;
    }

    private void requireHour(String tenant, QuotaJson quotas) {
        Long cpu = quotas.cpuSecondsPerHour();
        if (cpu != null) {
            long seconds = hour(tenant).cpuMillis() / 1000;
            requireLeft(tenant, "cpuSecondsPerHour", cpu, seconds);
        }
        Long output = quotas.outputBytesPerHour();
        if (output != null) {
            long sum = account(tenant).output(0, hour(tenant).outputBytes(), ledger.now());
            requireLeft(tenant, "outputBytesPerHour", output, sum);
        }
    }

    private void requireLeft(String tenant, String quota, long most, long current) {
        if (current >= most) {
            require(
                    tenant,
                    Optional.of(new Account.Refusal(quota, 1, most, current, toNextHour())));
        }
    }

    private void require(String tenant, Optional<Account.Refusal> refusal) {
        if (refusal.isPresent()) {
            tell(tenant, refusal.get());
            throw exceeded(refusal.get());
        }
    }

    private static CaissonException exceeded(Account.Refusal refusal) {
        return CaissonException.of(
                        ErrorCode.QUOTA_EXCEEDED,
                        "The tenant's quota "
                                + refusal.quota()
                                + " is used up: "
                                + refusal.current()
                                + " of "
                                + refusal.allowed()
                                + ", and "
                                + refusal.requested()
                                + " more was asked for.")
                .withRemedy(remedy(refusal.quota()))
                .withDetail("limit", refusal.quota())
                .withDetail("requested", Long.toString(refusal.requested()))
                .withDetail("allowed", Long.toString(refusal.allowed()))
                .withDetail("current", Long.toString(refusal.current()))
                .withDetail("retryAfterMillis", Long.toString(refusal.retryAfter().toMillis()));
    }

    /** What gives back some of a quota. */
    private static String remedy(String quota) {
        return switch (quota) {
            case "diskBytes" ->
                    "Delete runs, snapshots and volumes that are not needed, end sandboxes, or ask"
                            + " for a larger quota.";
            case "memoryBytes", "cpuMillis", "pids" ->
                    "End sandboxes that are not needed, pause them with memory: false, or ask for a"
                            + " larger quota.";
            default -> "Try again later, end what is not needed, or ask for a larger quota.";
        };
    }

    /** An event at most once a second for each tenant and quota; nobody waits for it. */
    @SuppressWarnings("FutureReturnValueIgnored") // It may be lost.
    private void tell(String tenant, Account.Refusal refusal) {
        ledger.counts().refused(refusal.quota());
        if (told.pass(tenant + "/" + refusal.quota())) {
            ledger.submit(tx -> append(tx, tenant, refusal));
        }
    }

    private boolean append(Store.Tx tx, String tenant, Account.Refusal refusal) {
        ledger.event(
                tx,
                EventType.QUOTA_EXCEEDED,
                Ledger.Subject.tenant(tenant),
                refusal.quota(),
                Map.of(
                        "limit", refusal.quota(),
                        "requested", refusal.requested(),
                        "allowed", refusal.allowed(),
                        "current", refusal.current()));
        return true;
    }

    private static Runnable once(Account account, Map<Account.Sum, Long> parts) {
        AtomicBoolean done = new AtomicBoolean();
        return () -> {
            if (done.compareAndSet(false, true)) {
                account.add(parts, -1);
            }
        };
    }

    /** A seat, or a kept disk; its lock is taken before the account's. */
    private final class Taken implements Seat, Kept {
        private final String tenant;
        private final Account account;

        /** Null: released. Guarded by this. */
        private @Nullable Map<Account.Sum, Long> parts;

        Taken(String tenant, Account account, Map<Account.Sum, Long> parts) {
            this.tenant = tenant;
            this.account = account;
            this.parts = parts;
        }

        @Override
        public void change(Limits limits) {
            change(Account.of(limits));
        }

        @Override
        public void change(ByteSize disk) {
            change(Map.of(Account.Sum.DISK, disk.bytes()));
        }

        @Override
        public synchronized void rest() {
            if (parts != null) {
                Map<Account.Sum, Long> freed = new EnumMap<>(parts);
                freed.keySet().removeAll(KEPT_AT_REST);
                account.add(freed, -1);
                parts = new EnumMap<>(parts);
                parts.keySet().retainAll(KEPT_AT_REST);
            }
        }

        private void change(Map<Account.Sum, Long> next) {
            require(tenant, tryChange(next, directory.quotas(tenant)));
        }

        private synchronized Optional<Account.Refusal> tryChange(
                Map<Account.Sum, Long> next, QuotaJson quotas) {
            if (parts == null) {
                return Optional.empty();
            }
            Map<Account.Sum, Long> more = new EnumMap<>(Account.Sum.class);
            Map<Account.Sum, Long> before = parts;
            next.forEach((sum, amount) -> more.put(sum, amount - before.getOrDefault(sum, 0L)));
            Optional<Account.Refusal> refusal = account.take(quotas, more, 0, false, ledger.now());
            if (refusal.isEmpty()) {
                parts = next;
            }
            return refusal;
        }

        @Override
        public synchronized void release() {
            if (parts != null) {
                account.add(parts, -1);
                parts = null;
            }
        }
    }
}
