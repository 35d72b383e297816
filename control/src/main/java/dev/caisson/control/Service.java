package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineCaisson;
import dev.caisson.core.Room;
import dev.caisson.core.SecretSink;
import dev.caisson.v1.InfoJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The service over a store and engines, both of which it closes. */
public final class Service implements Control {
    private static final Logger LOG = LoggerFactory.getLogger(Service.class);
    private static final Duration USAGE_KEPT = Duration.ofDays(400);
    private static final Duration OTHERS_SEE_IT = Duration.ofSeconds(2);
    private static final long HOUR = 3600;
    private static final long ORPHANS_SECONDS = 10;
    private static final long TICK_MILLIS = 100;
    private static final long SECRETS_MILLIS = 500; // what other servers do is in force in a second
    private static final long EGRESS_MILLIS = 250; // a changed policy cuts within a second
    private static final List<String> FEATURES =
            List.of(
                    "runs",
                    "sandboxes",
                    "execs",
                    "files",
                    "ports",
                    "snapshots",
                    "templates",
                    "volumes",
                    "policies",
                    "tenants",
                    "keys",
                    "pools",
                    "approvals",
                    "webhooks",
                    "secrets",
                    "events",
                    "logs",
                    "usage",
                    "info");

    private final Parts parts;
    private final Directory directory;
    private final Keys keys;
    private final Acting acting;
    private final Tenants tenants;
    private final Events events;
    private final Usages usages;
    private final Answers answers;
    private final Webhooks webhooks;
    private final SecretParts secrets;
    private final Deliveries deliveries;
    private final Tokens tokens;
    private final Lives lives;
    private final Sandboxes sandboxes;
    private final Execs execs;
    private final Runs runs;
    private final FileParts files;
    private final Ports ports;
    private final Snapshots snapshots;
    private final Volumes volumes;
    private final VolumeFiles volumeFiles;
    private final Pools pools;
    private final Logs logs;
    private volatile boolean draining;

    private Service(
            ControlConfig config, Store store, EngineRack engines, Vault vault, Clock clock) {
        Ledger ledger = new Ledger(store, clock);
        Cursors cursors = new Cursors(vault);
        directory = new Directory(ledger);
        Meter meter = new Meter(ledger);
        Policies policies = new Policies(ledger, cursors);
        Quotas quotas = new Quotas(ledger, directory, meter::hour);
        SecretSources sources = new SecretSources(config.secrets(), System::getenv);
        secrets = new SecretParts(ledger, cursors, vault, directory, sources);
        ScheduledThreadPoolExecutor timers = timers();
        Approvals approvals = new Approvals(ledger, cursors);
        Boxes boxes = new Boxes(ledger);
        parts =
                new Parts(
                        config,
                        ledger,
                        vault,
                        cursors,
                        engines,
                        policies,
                        quotas,
                        new KeptDisks(quotas),
                        approvals,
                        meter,
                        new OutputPace(config.outputRate(), System::nanoTime),
                        boxes,
                        secrets.uses(),
                        new Gateways(
                                ledger, policies, boxes, approvals, secrets, config.registries()),
                        new Redactions(secrets.uses(), boxes),
                        timers);
        String bootId = bootId();
        lives = new Lives(parts, bootId);
        snapshots = new Snapshots(parts);
        volumes = new Volumes(parts);
        Orders orders = new Orders(parts, snapshots, volumes);
        Pauses pauses = new Pauses(parts, lives, orders);
        lives.onPause((box, memory, reason) -> pauses.pause(box, memory, reason, null));
        Uses uses = new Uses(parts, pauses::resume);
        pools = new Pools(parts, lives, orders);
        sandboxes = new Sandboxes(parts, lives, orders, pauses, pools, snapshots, uses);
        keys = new Keys(ledger, cursors, directory);
        execs = new Execs(parts, uses, keys::requireStill);
        runs = new Runs(parts, sandboxes, execs);
        files = new FileParts(parts, uses);
        volumeFiles = new VolumeFiles(parts, lives, orders, volumes);
        ports = new Ports(parts, lives, uses, keys::requireStill);
        logs = new Logs(parts, execs);
        acting = new Acting(ledger, directory);
        events = new Events(ledger);
        usages = new Usages(ledger);
        answers = new Answers(ledger, vault);
        webhooks = new Webhooks(ledger, cursors, vault, config.webhooks());
        deliveries = deliveries(ledger, vault, config.webhooks());
        tokens = new Tokens(ledger, directory, config.tokens());
        Erasure erasure = erasure(ledger, directory, store);
        tenants = new Tenants(ledger, cursors, directory, erasure, quotas::changed);
        start(bootId, erasure);
    }

    private Erasure erasure(Ledger ledger, Directory directory, Store store) {
        return new Erasure(
                ledger,
                directory,
                this::erase,
                () -> {
                    keys.forget();
                    parts.policies().forget();
                },
                store.engine().equals("postgresql") ? OTHERS_SEE_IT : Duration.ZERO);
    }

    private static ScheduledThreadPoolExecutor timers() {
        ScheduledThreadPoolExecutor timers =
                new ScheduledThreadPoolExecutor(
                        1, Thread.ofPlatform().daemon().name("caisson-timers").factory());
        timers.setRemoveOnCancelPolicy(true);
        return timers;
    }

    private static Deliveries deliveries(Ledger ledger, Vault vault, WebhookConfig config) {
        Courier courier =
                new Courier(
                        config.privateAddresses(),
                        config.timeout(),
                        () -> (SSLSocketFactory) SSLSocketFactory.getDefault());
        return new Deliveries(ledger, vault, config, courier);
    }

    /** Takes up what an earlier server left, then goes about its work. */
    @SuppressWarnings("FutureReturnValueIgnored") // it goes on until the timers end
    private void start(String bootId, Erasure erasure) {
        DiskRecovery disks = new DiskRecovery(parts);
        Recovery recovery = new Recovery(parts, lives, execs, runs, disks, bootId);
        lives.onDetached(recovery::detached);
        Ledger ledger = parts.ledger();
        ControlConfig config = parts.config();
        answers.start();
        parts.approvals().start();
        recovery.start();
        pools.start();
        deliveries.start();
        Housekeeping housekeeping =
                new Housekeeping(parts, runs, (box, reason) -> lives.end(box, reason, null));
        housekeeping.start();
        parts.timers()
                .scheduleWithFixedDelay(
                        execs.places()::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        housekeeping.every(
                HOUR,
                "purge",
                () -> {
                    answers.purge();
                    parts.approvals().purge(ledger.now().minus(config.endedKept()));
                    events.trim(ledger.now().minus(config.eventsKept()));
                    erasure.purge(ledger.now().minus(USAGE_KEPT));
                });
        Thread.ofVirtual().name("caisson-erasure").start(erasure::resume);
        tell(EventType.SERVER_STARTED);
        housekeeping.everyMillis(
                SECRETS_MILLIS,
                "secrets",
                () -> secrets.uses().tick(parts.boxes(), parts.policies()));
        housekeeping.everyMillis(EGRESS_MILLIS, "egress", parts.gateways()::tick);
        housekeeping.every(ORPHANS_SECONDS, "orphans", disks::orphans);
        housekeeping.every(1, "approvals", () -> parts.approvals().expire(ledger.now()));
    }

    /**
     * Opens the service: takes up what an earlier one of this node left, then is ready.
     *
     * @param vault of the server key, the same at every start
     */
    public static Service open(
            ControlConfig config, Store store, EngineRack engines, Vault vault, Clock clock) {
        try {
            Files.createDirectories(config.data());
            Trees.delete(config.data().resolve("tmp"));
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "The data folder " + config.data() + " cannot be made.", e);
        }
        return new Service(config, store, engines, vault, clock);
    }

    private static String bootId() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** The first admin key, once in the life of a store; empty at every later start. */
    public java.util.Optional<dev.caisson.v1.KeyJson> bootstrap() {
        java.util.Optional<dev.caisson.v1.KeyJson> first = keys.bootstrap();
        if (first.isPresent()) {
            tell(EventType.SERVER_STARTED); // now there is somebody to tell
        }
        return first;
    }

    // ---- who asks

    @Override
    public Caller authenticate(String key) {
        return acting(keys.authenticate(key));
    }

    @Override
    public Caller authenticateToken(String token) {
        return acting(tokens.authenticateToken(token));
    }

    /** What the thread takes from now on is of that tenant's share, whatever facade it came by. */
    private static Caller acting(Caller caller) {
        Room.owned(caller.tenant());
        return caller;
    }

    @Override
    public void requireStill(Caller caller) {
        keys.requireStill(caller);
    }

    @Override
    public Caller actFor(Caller caller, String tenant) {
        return acting.actFor(caller, tenant);
    }

    @Override
    public void require(Caller caller, String scope) {
        Access.require(caller, scope);
    }

    @Override
    public void requireService(Caller caller) {
        if (!directory.runsService(caller)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED, "This is for those who run the service only.")
                    .withRemedy("Use a key of an admin or operator of the first tenant.");
        }
    }

    // ---- about itself

    @Override
    public InfoJson info(Caller caller) {
        EffectivePolicy policy = parts.policies().effective(caller, null);
        List<String> templates = new ArrayList<>();
        List<String> degraded = new ArrayList<>();
        String kernel = "";
        for (Engine engine : parts.engines().engines()) {
            templates.addAll(engine.host().templates());
            degraded.addAll(engine.host().degraded());
            kernel = engine.host().kernel();
        }
        return new InfoJson(
                EngineCaisson.VERSION,
                parts.node(),
                kernel,
                parts.engines().tiers(),
                templates.stream().distinct().filter(policy.templates()::contains).toList(),
                degraded,
                EffectivePolicy.form(policy.limits(null)),
                policy.maxLimits(),
                caller.tenant(),
                caller.role().value(),
                FEATURES);
    }

    @Override
    public @Nullable String unready() {
        if (draining) {
            return "draining";
        }
        if (!parts.engines().complete()) {
            return "an engine is away";
        }
        try {
            parts.ledger().store().check();
            return null;
        } catch (CaissonException e) {
            return "the store cannot be written";
        }
    }

    // ---- parts

    @Override
    public SandboxService sandboxes() {
        return sandboxes;
    }

    @Override
    public ExecService execs() {
        return execs;
    }

    @Override
    public RunService runs() {
        return runs;
    }

    @Override
    public FileService files() {
        return files;
    }

    @Override
    public PortService ports() {
        return ports;
    }

    @Override
    public SnapshotService snapshots() {
        return snapshots;
    }

    @Override
    public VolumeService volumes() {
        return volumes;
    }

    @Override
    public ContentService volumeFiles() {
        return volumeFiles;
    }

    @Override
    public PoolService pools() {
        return pools;
    }

    @Override
    public ApprovalService approvals() {
        return parts.approvals();
    }

    @Override
    public TenantService tenants() {
        return tenants;
    }

    @Override
    public KeyService keys() {
        return keys;
    }

    @Override
    public PolicyService policies() {
        return parts.policies();
    }

    @Override
    public UsageService usage() {
        return usages;
    }

    @Override
    public EventService events() {
        return events;
    }

    @Override
    public WebhookService webhooks() {
        return webhooks;
    }

    @Override
    public SecretService secrets() {
        return secrets.service();
    }

    /** For tests: what takes secrets in the place of a gateway. */
    void secretSink(SecretSink sink) {
        secrets.connect(sink);
    }

    @Override
    public LogService logs() {
        return logs;
    }

    @Override
    public Idempotency idempotency() {
        return answers;
    }

    // ---- the end

    /** Ends and deletes what a tenant has outside of its rows. */
    private Map<String, Long> erase(String tenant) {
        Map<String, Long> erased = new HashMap<>();
        pools.drop(tenant);
        List<Box> boxes =
                parts.boxes().all().stream().filter(box -> box.tenant.equals(tenant)).toList();
        boxes.forEach(box -> sandboxes.end(box, EndReason.POLICY, null));
        erased.put("sandboxes", (long) boxes.size());
        List<Row> sandboxRows = rows(Kind.SANDBOX, tenant);
        sandboxRows.forEach(
                row -> Trees.delete(parts.config().data().resolve("output").resolve(row.id())));
        List<Row> saved = rows(Kind.SNAPSHOT, tenant);
        saved.forEach(row -> {
            drop(engine -> engine.dropSnapshot(row.id()));
            parts.disks().release(row.id());
        });
        erased.put("snapshots", (long) saved.size());
        List<Row> disks = rows(Kind.VOLUME, tenant);
        disks.forEach(row -> {
            drop(engine -> engine.dropVolume(row.id()));
            parts.disks().release(row.id());
        });
        erased.put("volumes", (long) disks.size());
        List<Row> results = rows(Kind.RUN, tenant);
        results.forEach(row -> runs.remove(RunDoc.of(row)));
        erased.put("runs", (long) results.size());
        drop(engine -> parts.quotas().forget(engine, tenant));
        return erased;
    }

    private void drop(java.util.function.Consumer<Engine> action) {
        for (Engine engine : parts.engines().engines()) {
            try {
                action.accept(engine);
            } catch (CaissonException e) {
                if (e.code() != ErrorCode.NOT_FOUND && e.code() != ErrorCode.UNSUPPORTED) {
                    throw e;
                }
            }
        }
    }

    private List<Row> rows(Kind kind, String tenant) {
        return parts.ledger().read(tx -> tx.list(kind, Query.of(tenant)));
    }

    /** What this server has done since it began. */
    public Counts counts() {
        return parts.ledger().counts();
    }

    /** Whether the engine of each tier of this host answers. */
    public Map<String, Boolean> engines() {
        return parts.engines().up();
    }

    /**
     * How many sandboxes are in which state on this server, how many execs run, how many warm
     * sandboxes are ready, and how many approvals wait.
     */
    public Map<String, Long> gauges() {
        Map<String, Long> gauges = new HashMap<>();
        try (Stream<Box> all = parts.boxes().all().stream()) {
            all.forEach(box -> gauges.merge("sandboxes." + box.state(), 1L, Long::sum));
        }
        gauges.put("execs.running", (long) execs.count());
        gauges.put("pools.ready", pools.ready());
        gauges.put("approvals.waiting", (long) parts.approvals().waiting());
        return gauges;
    }

    @Override
    public void drain(Duration longest) {
        draining = true;
        tell(EventType.SERVER_STOPPED);
    }

    /** An event of this server, for those who run the service; before its first start nobody. */
    private void tell(EventType type) {
        Map<String, Object> data = Map.of("node", parts.node(), "version", EngineCaisson.VERSION);
        parts.ledger()
                .actSoon(tx ->
                        tx.meta(Directory.HOME)
                                .ifPresent(home ->
                                        parts.ledger()
                                                .event(
                                                        tx,
                                                        type,
                                                        Ledger.Subject.tenant(home),
                                                        "",
                                                        data)));
    }

    private void ownerGone(Box box) {
        try {
            lives.end(box, EndReason.OWNER_GONE, null);
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("an owned sandbox could not be ended; its lease will");
        }
    }

    /** What is held in memory, by name: for tests of what is left behind. */
    Map<String, Integer> held() {
        return Map.of(
                "boxes",
                parts.boxes().all().size(),
                "execs",
                execs.count(),
                "places",
                execs.places().taken(),
                "runs",
                runs.count(),
                "tunnels",
                ports.count(),
                "timers",
                parts.timers() instanceof ScheduledThreadPoolExecutor pool
                        ? pool.getQueue().size()
                        : 0);
    }

    Parts parts() {
        return parts;
    }

    /** Owned sandboxes end here; leased ones live on under their leases and are found again. */
    @Override
    public void close() {
        draining = true;
        deliveries.close();
        try {
            parts.meter().flush();
        } catch (CaissonException e) {
            LOG.atWarn().addKeyValue("cause", e.message()).log("the last usage is not written");
        }
        parts.timers().shutdownNow();
        try {
            parts.timers().awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        parts.boxes().all().stream().filter(box -> box.doc().owned).forEach(this::ownerGone);
        parts.boxes()
                .all()
                .forEach(box -> {
                    var hosted = box.hostedOrNull();
                    if (hosted != null) {
                        hosted.close();
                    }
                });
        parts.engines().close();
        parts.ledger().store().close();
    }
}
