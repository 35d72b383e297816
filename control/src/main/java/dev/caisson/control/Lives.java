package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Limits;
import dev.caisson.api.Tier;
import dev.caisson.core.EgressPlan;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.HostedSandbox;
import dev.caisson.core.Ids;
import dev.caisson.core.VolumeMount;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How sandboxes begin and end. Intent is written before effect: a row says creating or ending
 * before the engine is asked, and what is answered is durable. Thread-safe.
 */
final class Lives {
    private static final Logger LOG = LoggerFactory.getLogger(Lives.class);

    /** The engine ends a sandbox by itself that much later than the server would. */
    private static final Duration SLACK = Duration.ofSeconds(5);

    private static final Duration NO_END = Duration.ofDays(3650);
    private static final int EPOCHS_PER_START = 1024;
    private static final long RETRY_MILLIS = 1000;
    private static final long EXECS_END_MILLIS = 2000;

    private final Parts parts;
    private final String bootId;
    private final Alarms alarms;
    private volatile Detached detached = (box, lost) -> {};

    /** Told of a sandbox whose engine went away; decides whether it lives. */
    interface Detached {
        /**
         * Told once for each connection.
         *
         * @param lost what the sandbox was reached by
         */
        void detached(Box box, HostedSandbox lost);
    }

    Lives(Parts parts, String bootId) {
        this.parts = parts;
        this.bootId = bootId;
        this.alarms = new Alarms(parts, this);
    }

    void onDetached(Detached listener) {
        detached = listener;
    }

    /**
     * Above every epoch that was said to the sandbox before, by this or an earlier server; under
     * the box's lock.
     */
    private long nextEpoch(Box box) {
        return parts.ledger().store().epoch() * EPOCHS_PER_START
                + Math.min(box.attach(), EPOCHS_PER_START - 1);
    }

    // ---- beginning

    /** Makes a sandbox; running and durable when this returns. */
    Box create(@Nullable Caller caller, Order order, String stateAtEnd) {
        Quotas.Seat seat = parts.quotas().take(order.doc().tenant, order.limits());
        boolean made = false;
        try {
            Box box = intent(caller, order);
            box.seat(seat);
            box.env(order.env());
            begin(box, order, stateAtEnd);
            made = true;
            return box;
        } finally {
            if (!made) {
                seat.release();
            }
        }
    }

    private Box intent(@Nullable Caller caller, Order order) {
        SandboxDoc doc = order.doc();
        parts.quotas().group(order.engine(), doc.tenant);
        doc.id = order.engine().reserve(doc.tenant);
        doc.session = Ids.next(Ids.Kind.SESSION);
        doc.state = SandboxDoc.CREATING;
        doc.createdAt = parts.ledger().now();
        doc.bootId = bootId;
        doc.limits = EffectivePolicy.form(order.limits());
        if (!order.env().isEmpty()) {
            doc.env = parts.vault().seal("env " + doc.id, dev.caisson.v1.Json.write(order.env()));
        }
        if (doc.timeoutMillis != null) {
            doc.timeoutAt = doc.createdAt.plusMillis(doc.timeoutMillis);
        }
        Row row = doc.row(1, parts.node(), null);
        parts.ledger()
                .act(tx -> {
                    tx.insert(Kind.SANDBOX, row);
                    createdEvent(tx, caller, doc);
                });
        Box box = new Box(doc, 1, doc.createdAt);
        parts.boxes().add(box);
        return box;
    }

    private void createdEvent(Store.Tx tx, @Nullable Caller caller, SandboxDoc doc) {
        Map<String, Object> data = new HashMap<>();
        data.put("tier", doc.tier);
        data.put("engine", doc.engine);
        data.put("template", doc.template);
        data.put("labels", doc.labels);
        data.put("limits", doc.limits);
        data.put("root", doc.root);
        data.put("policyVersion", doc.policyVersion);
        if (doc.name != null) {
            data.put("name", doc.name);
        }
        if (caller == null) {
            parts.ledger().event(tx, EventType.SANDBOX_CREATED, doc.subject(), "", data);
        } else {
            parts.ledger().event(tx, caller, EventType.SANDBOX_CREATED, doc.subject(), "", data);
        }
    }

    private void begin(Box box, Order order, String stateAtEnd) {
        box.lock.lock();
        try {
            parts.secrets().open(box.id, box.doc().secrets);
            HostedSandbox hosted =
                    hosted(
                            box,
                            box.doc(),
                            order.engine(),
                            order.limits(),
                            order.disk(),
                            order.mounts());
            box.tracker(parts.meter().track(box.tenant, box.id, box.doc().session));
            SandboxDoc running = box.draft();
            running.state = stateAtEnd;
            running.startedAt = parts.ledger().now();
            running.degraded = hosted.degraded();
            Map<String, Object> data =
                    Map.of(
                            "setupMicros",
                            hosted.setup().toNanos() / 1000,
                            "degraded",
                            running.degraded);
            Ledger.Act making = Answers.making(box.id);
            save(
                    box,
                    running,
                    tx -> {
                        making.run(tx);
                        parts.ledger()
                                .event(tx, EventType.SANDBOX_STARTED, running.subject(), "", data);
                    });
            schedule(box);
        } catch (CaissonException e) {
            failed(box, e);
            throw e;
        } catch (RuntimeException e) {
            failed(box, CaissonException.of(ErrorCode.INTERNAL, "It was not made: " + e, e));
            throw e;
        } finally {
            box.lock.unlock();
        }
    }

    /** A new session of a sandbox from a saved disk; under the lock. */
    void restart(
            Box box,
            Engine engine,
            SandboxDoc doc,
            Limits limits,
            String disk,
            List<VolumeMount> mounts) {
        HostedSandbox hosted;
        try {
            hosted = hosted(box, doc, engine, limits, Optional.of(disk), mounts);
        } catch (CaissonException e) {
            clear(box);
            throw e;
        }
        doc.bootId = bootId;
        doc.degraded = hosted.degraded();
        box.tracker(parts.meter().track(box.tenant, box.id, doc.session));
    }

    /** Makes one, and says that the box is reached by it. */
    private HostedSandbox hosted(
            Box box,
            SandboxDoc doc,
            Engine engine,
            Limits limits,
            Optional<String> disk,
            List<VolumeMount> mounts) {
        EngineWord listener = new EngineWord(parts.ledger(), this, box, doc.session);
        Optional<EgressPlan> egress = parts.gateways().plan(box.id, doc, engine);
        HostedSandbox hosted =
                HostedSandbox.create(
                        engine,
                        new EngineRequest(
                                box.id,
                                box.tenant,
                                doc.template,
                                limits,
                                Optional.of(parts.config().lease()),
                                engineLife(doc),
                                disk,
                                mounts,
                                doc.root,
                                egress),
                        new HostedSandbox.HostedSettings(
                                nextEpoch(box), Map.of(), doc.allowDegraded, limits),
                        listener);
        parts.redactions().hide(box.id, hosted);
        box.hosted(hosted, listener);
        return hosted;
    }

    /** Connects to a sandbox that lives already; under the lock. */
    HostedSandbox attach(Box box, Engine engine) {
        SandboxDoc doc = box.doc();
        EngineWord listener = new EngineWord(parts.ledger(), this, box, doc.session);
        HostedSandbox hosted =
                HostedSandbox.attach(
                        engine,
                        box.id,
                        nextEpoch(box),
                        new HostedSandbox.HostedSettings(
                                0, Map.of(), doc.allowDegraded, Orders.limits(doc.limits)),
                        listener);
        parts.redactions().hide(box.id, hosted);
        box.hosted(hosted, listener);
        parts.gateways().adopted(box, engine, hosted);
        if (box.tracker() == null) {
            box.tracker(parts.meter().track(box.tenant, box.id, doc.session));
        }
        return hosted;
    }

    /** What the engine is told: the end that it enforces even without a server. */
    Optional<Duration> engineLife(SandboxDoc doc) {
        Instant end = doc.maxLifeAt();
        Instant timeout = doc.state.equals(SandboxDoc.PAUSED) ? null : doc.timeoutAt;
        if (!doc.pauseOnTimeout && timeout != null && (end == null || timeout.isBefore(end))) {
            end = timeout;
        }
        if (end == null) {
            return Optional.empty();
        }
        Duration left = Duration.between(parts.ledger().now(), end).plus(SLACK);
        return Optional.of(left.isPositive() ? left : Duration.ofMillis(1));
    }

    /** Tells the engine that the end has moved. */
    void renew(Box box, SandboxDoc doc) {
        HostedSandbox hosted = box.hostedOrNull();
        if (hosted != null) {
            hosted.engine()
                    .renew(parts.config().lease(), Optional.of(engineLife(doc).orElse(NO_END)));
        }
    }

    /** It never ran: its row says so, and nothing is left. */
    private void failed(Box box, CaissonException cause) {
        HostedSandbox hosted = box.hostedOrNull();
        if (hosted != null) {
            hosted.destroy(EndReason.ENGINE_FAILED);
        }
        clearSoon(box); // the engine may have made it, and its word got lost
        try {
            SandboxDoc doc = box.draft();
            over(box, doc, EndReason.ENGINE_FAILED, cause.message(), null);
        } catch (CaissonException e) {
            again(box, EndReason.ENGINE_FAILED, e);
        }
    }

    /** An end that could not be written is tried again, as long as this server has the sandbox. */
    private void again(Box box, EndReason reason, CaissonException cause) {
        LOG.atWarn()
                .addKeyValue("sandbox", box.id)
                .addKeyValue("cause", cause.message())
                .log("the end of a sandbox could not be written, trying again");
        if (cause.code() == ErrorCode.INVALID_STATE) {
            return; // another server has taken over
        }
        parts.later(
                RETRY_MILLIS,
                "caisson-end-" + box.id,
                () -> {
                    try {
                        end(box, reason, null);
                    } catch (CaissonException e) {
                        again(box, reason, e);
                    }
                });
    }

    // ---- writing

    /** More to do in the transaction that writes a sandbox. */
    interface More {
        void run(Store.Tx tx);
    }

    /** Writes a changed document and takes it over; under the box's lock. */
    void save(Box box, SandboxDoc doc, More more) {
        Instant due = doc.over() ? doc.endedAt : doc.end(box.idleAt()).at();
        Row row = doc.row(box.version(), parts.node(), due);
        Row written =
                parts.ledger()
                        .write(tx -> {
                            Row now = tx.update(Kind.SANDBOX, row);
                            more.run(tx);
                            return now;
                        });
        box.written(doc, written.version());
    }

    // ---- ending

    /** Ends it; dead and durable when this returns. Again: nothing. */
    void end(Box box, EndReason reason, @Nullable Caller caller) {
        box.lock.lock();
        try {
            if (box.doc().over()) {
                return;
            }
            box.wanted(reason);
            if (!box.doc().state.equals(SandboxDoc.ENDING)) {
                SandboxDoc ending = box.draft();
                ending.state = SandboxDoc.ENDING;
                ending.reason = reason.value();
                save(box, ending, tx -> {});
            }
            HostedSandbox hosted = box.hostedOrNull();
            EngineSandbox.Ended ended = hosted == null ? null : destroy(box, hosted, reason);
            try {
                finish(box, reason, ended, caller);
            } catch (CaissonException e) {
                again(box, reason, e);
                throw e;
            }
        } finally {
            box.lock.unlock();
        }
    }

    /**
     * Ends its session; everything is dead when this returns. An engine that broke off before its
     * word came may be an upgraded one, where the sandbox lives on: then it is asked once more.
     *
     * @return the engine's last word; null when it is gone and none came
     */
    EngineSandbox.@Nullable Ended destroy(Box box, HostedSandbox hosted, EndReason reason) {
        EngineSandbox.Ended ended = hosted.destroy(reason);
        return ended.reason() == EndReason.LOST ? clear(box).orElse(null) : ended;
    }

    /** Ends what the engine may still have of it; waits for an engine that is away. */
    private Optional<EngineSandbox.Ended> clear(Box box) {
        Instant until = parts.ledger().now().plus(EngineRack.PATIENCE);
        Tier tier = Tier.of(box.doc().tier);
        while (true) {
            Optional<Engine> engine = parts.engines().await(tier, EngineRack.PATIENCE);
            try {
                if (engine.isEmpty() || !has(engine.get(), box.id)) {
                    return Optional.empty();
                }
                EngineSandbox.Ended ended = engine.get().attach(box.id).destroy();
                if (ended.reason() != EndReason.LOST) {
                    return Optional.of(ended);
                }
            } catch (CaissonException e) {
                // It broke off once more, or it is not yet known that it did.
                if (parts.ledger().now().isAfter(until)) {
                    throw e;
                }
            }
            parts.engines().pause();
        }
    }

    private static boolean has(Engine engine, String sandbox) {
        return engine.list().stream().anyMatch(one -> one.sandbox().equals(sandbox));
    }

    private void clearSoon(Box box) {
        Thread.ofVirtual()
                .name("caisson-clear-" + box.id)
                .start(() -> {
                    try {
                        clear(box);
                    } catch (CaissonException e) {
                        LOG.atWarn()
                                .addKeyValue("sandbox", box.id)
                                .addKeyValue("cause", e.message())
                                .log("what failed to start could not be ended; its lease will");
                    }
                });
    }

    /** Under the lock: everything is dead, the rest is writing. */
    private void finish(
            Box box,
            EndReason reason,
            EngineSandbox.@Nullable Ended ended,
            @Nullable Caller caller) {
        if (box.doc().over()) {
            return;
        }
        endExecs(box, reason);
        SandboxDoc doc = box.draft();
        EndReason why = reason;
        if (ended != null && ended.reason() != EndReason.DELETED && box.wanted() == null) {
            why = ended.reason();
        }
        over(box, doc, why, ended == null ? "" : ended.detail(), caller, ended);
    }

    /** Their own ends come first, all within that time. */
    static void endExecs(Box box, EndReason reason) {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(EXECS_END_MILLIS);
        box.execs.values().forEach(RunningExec::hurry);
        box.execs
                .values()
                .forEach(exec ->
                        exec.sandboxOver(
                                reason, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())));
    }

    private void over(
            Box box,
            SandboxDoc doc,
            EndReason why,
            String detail,
            EngineSandbox.@Nullable Ended ended) {
        over(box, doc, why, detail, null, ended);
    }

    private void over(
            Box box,
            SandboxDoc doc,
            EndReason why,
            String detail,
            @Nullable Caller caller,
            EngineSandbox.@Nullable Ended ended) {
        boolean lost = why == EndReason.LOST || why == EndReason.HOST_RESTARTED;
        doc.state = lost ? SandboxDoc.LOST : SandboxDoc.ENDED;
        doc.reason = why.value();
        doc.detail = detail.isEmpty() ? null : detail;
        doc.endedAt = parts.ledger().now();
        doc.env = null;
        Meter.Tracker tracker = box.tracker();
        EventType type = lost ? EventType.SANDBOX_LOST : EventType.SANDBOX_ENDED;
        Map<String, Object> data = new HashMap<>();
        data.put("detail", detail);
        if (ended != null) {
            data.put("usage", Forms.usage(ended.usage()));
        }
        save(
                box,
                doc,
                tx -> {
                    if (tracker != null && ended != null) {
                        tracker.ended(tx, ended.usage());
                    }
                    if (caller == null) {
                        parts.ledger().event(tx, type, doc.subject(), why.value(), data);
                    } else {
                        parts.ledger().event(tx, caller, type, doc.subject(), why.value(), data);
                    }
                });
        if (ended == null && tracker != null) {
            parts.meter().forget(doc.session);
        }
        parts.ledger().counts().ended(why);
        gone(box, doc);
    }

    private void gone(Box box, SandboxDoc doc) {
        box.alarm(null);
        HostedSandbox hosted = box.hostedOrNull();
        if (hosted != null) {
            hosted.close();
        }
        box.hosted(null, null);
        parts.secrets().gone(box.id);
        parts.gateways().gone(box.id);
        String saved = doc.pauseSnapshot;
        if (saved != null) {
            drop(doc, saved);
        }
        parts.boxes().remove(box);
        Quotas.Seat seat = box.seat();
        if (seat != null) {
            seat.release();
        }
        box.over.complete(doc);
    }

    /** A saved disk that nobody needs; what stays behind is dropped at the next start. */
    void drop(SandboxDoc doc, String snapshot) {
        try {
            parts.engines()
                    .of(Tier.of(doc.tier))
                    .ifPresent(engine -> engine.dropSnapshot(snapshot));
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("snapshot", snapshot)
                    .addKeyValue("cause", e.message())
                    .log("a saved disk could not be dropped");
        }
    }

    /** The engine says that a session is over; under the lock. */
    void over(Box box, EngineSandbox.Ended ended) {
        EndReason wanted = box.wanted();
        EndReason reason = wanted == null ? ended.reason() : wanted;
        try {
            finish(box, reason, ended, null);
        } catch (CaissonException e) {
            again(box, reason, e);
        }
    }

    /** The engine broke off. */
    void cut(Box box, HostedSandbox lost) {
        detached.detached(box, lost);
    }

    /** Says that a sandbox is gone that nobody can ask any more. */
    void lost(Box box, EndReason reason, String detail) {
        box.lock.lock();
        try {
            if (!box.doc().over()) {
                // Nobody is there who could tell of their own ends.
                box.execs.values().forEach(exec -> exec.sandboxOver(reason, 0));
                over(box, box.draft(), reason, detail, null);
            }
        } finally {
            box.lock.unlock();
        }
    }

    /** Sets the alarm for the next end of the sandbox; under the lock. */
    void schedule(Box box) {
        alarms.schedule(box);
    }

    /** Pauses a sandbox whose time is over; set once. */
    interface Pauser {
        void pause(Box box, boolean memory, String reason);
    }

    void onPause(Pauser pauser) {
        alarms.onPause(pauser);
    }
}
