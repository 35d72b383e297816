package dev.caisson.core;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventSink;
import dev.caisson.api.HostInfo;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The public API over the engines of a host. */
public final class EngineCaisson implements Caisson {
    /** The version of this library. */
    public static final String VERSION = version();

    private final List<Engine> engines;
    private final List<HostInfo.TierInfo> missing;
    private final EventBus events;
    private final EgressDocuments documents;
    private final EgressEvents egress;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, LiveSandbox> live = new LinkedHashMap<>(); // guarded by lock
    private final Map<String, String> names =
            new LinkedHashMap<>(); // guarded by lock: name to sandbox, "" while made
    private boolean closed; // guarded by lock

    /**
     * The API over engines, which it closes.
     *
     * @param engines strongest tier first
     * @param missing tiers that no engine gives, with what is missing
     */
    public EngineCaisson(List<Engine> engines, List<HostInfo.TierInfo> missing, EventSink events) {
        this(engines, missing, events, EgressDocuments.PLAIN);
    }

    /**
     * The API over engines, which it closes.
     *
     * @param engines strongest tier first
     * @param missing tiers that no engine gives, with what is missing
     * @param documents reads documents and events of the way out
     */
    public EngineCaisson(
            List<Engine> engines,
            List<HostInfo.TierInfo> missing,
            EventSink events,
            EgressDocuments documents) {
        this.engines = List.copyOf(engines);
        this.missing = List.copyOf(missing);
        this.events = new EventBus(events);
        this.documents = documents;
        this.egress = new EgressEvents(documents);
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        return create(spec, Optional.empty());
    }

    LiveSandbox create(SandboxSpec spec, Optional<String> run) {
        Engine engine = engine(spec.tier());
        if (spec.limits().ioRate().isPresent() && !engine.capabilities().ioRate()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "The engine " + engine.name() + " cannot limit disk traffic.")
                    .withDetail("limit", "io");
        }
        if (spec.egress().isPresent() && !engine.capabilities().egress()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "The engine " + engine.name() + " cannot give a way out.")
                    .withDetail("field", "egress");
        }
        claimName(spec);
        boolean made = false;
        try {
            SandboxSpec whole =
                    spec.egress().map(documents::complete).map(spec::withEgress).orElse(spec);
            if (whole.egress().isPresent() && events.active()) {
                engine.gateway(egress, EgressListener.ONLY_NEW);
            }
            LiveSandbox sandbox = LiveSandbox.create(engine, whole, events, run, this);
            made = add(sandbox);
            return sandbox;
        } finally {
            if (!made) {
                spec.name().ifPresent(this::releaseName);
            }
        }
    }

    private void claimName(SandboxSpec spec) {
        lock.lock();
        try {
            if (closed) {
                throw closedAlready();
            }
            if (spec.name().isPresent() && names.putIfAbsent(spec.name().get(), "") != null) {
                throw CaissonException.of(
                        ErrorCode.ALREADY_EXISTS,
                        "A sandbox named '" + spec.name().get() + "' is there already.");
            }
        } finally {
            lock.unlock();
        }
    }

    private void releaseName(String name) {
        lock.lock();
        try {
            names.remove(name);
        } finally {
            lock.unlock();
        }
    }

    private boolean add(LiveSandbox sandbox) {
        lock.lock();
        try {
            if (!closed) {
                live.put(sandbox.id(), sandbox);
                if (sandbox.ended()) {
                    live.remove(sandbox.id());
                    sandbox.spec().name().ifPresent(names::remove);
                }
                return true;
            }
        } finally {
            lock.unlock();
        }
        sandbox.close();
        throw closedAlready();
    }

    /** What is told of the ways out of its sandboxes. */
    EgressEvents egress() {
        return egress;
    }

    /** That sandbox has ended. */
    void gone(LiveSandbox sandbox) {
        lock.lock();
        try {
            if (live.remove(sandbox.id()) != null) {
                sandbox.spec().name().ifPresent(names::remove);
            }
        } finally {
            lock.unlock();
        }
    }

    private static CaissonException closedAlready() {
        return CaissonException.of(ErrorCode.INVALID_STATE, "This Caisson was closed.");
    }

    private Engine engine(Tier tier) {
        for (Engine engine : engines) {
            if (tier == Tier.AUTO || tier == engine.tier()) {
                return engine;
            }
        }
        HostInfo.TierInfo info =
                missing.stream()
                        .filter(candidate -> tier == Tier.AUTO || candidate.tier() == tier)
                        .findFirst()
                        .orElseThrow(() ->
                                CaissonException.invalid(
                                        "tier", "No such tier: " + tier.value() + "."));
        throw CaissonException.of(
                        ErrorCode.TIER_UNAVAILABLE,
                        "The tier "
                                + info.tier().value()
                                + " is not available on this host: "
                                + info.missing())
                .withRemedy(info.remedy())
                .withDetail("requested", tier.value())
                .withDetail("allowed", available());
    }

    private String available() {
        return String.join(", ", engines.stream().map(engine -> engine.tier().value()).toList());
    }

    @Override
    public RunResult run(RunSpec spec, RunListener listener) {
        return new Runner(this, events, spec, listener).run();
    }

    @Override
    public List<Sandbox> sandboxes() {
        lock.lock();
        try {
            // One that was closed is dead already; its last event may still be on its way.
            return live.values().stream()
                    .filter(sandbox -> !sandbox.ended() && sandbox.state() != SandboxState.ENDING)
                    .<Sandbox>map(sandbox -> sandbox)
                    .toList();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public HostInfo info() {
        List<HostInfo.TierInfo> tiers = new ArrayList<>();
        Map<Tier, List<String>> templates = new LinkedHashMap<>();
        List<String> degraded = new ArrayList<>();
        String kernel = "";
        for (Engine engine : engines) {
            tiers.add(
                    new HostInfo.TierInfo(engine.tier(), true, Optional.of(engine.name()), "", ""));
            templates.put(engine.tier(), engine.host().templates());
            degraded.addAll(engine.host().degraded());
            kernel = engine.host().kernel();
        }
        tiers.addAll(missing);
        return new HostInfo(VERSION, kernel, tiers, templates, degraded);
    }

    @Override
    public void close() {
        List<LiveSandbox> left;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            left = List.copyOf(live.values());
        } finally {
            lock.unlock();
        }
        left.forEach(sandbox -> sandbox.end(EndReason.DELETED));
        engines.forEach(Engine::close);
    }

    private static String version() {
        String version = EngineCaisson.class.getPackage().getImplementationVersion();
        return version == null ? "0.1.0-SNAPSHOT" : version;
    }
}
