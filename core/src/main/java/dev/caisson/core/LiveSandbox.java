package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import dev.caisson.api.Tunnel;
import dev.caisson.api.Usage;
import dev.caisson.api.UserInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A sandbox that ends with its client: a {@link HostedSandbox} with a state and events. */
final class LiveSandbox implements Sandbox {
    static final String GROUP = "local";

    private final Engine engine;
    private final SandboxSpec spec;
    private final EventBus events;
    private final EventBus.Subject subject;
    private final String id;
    private final String session;
    private final LocalSecrets secrets;
    private final HostedSandbox hosted;
    private final EngineCaisson owner;
    private final AtomicReference<SandboxState> state =
            new AtomicReference<>(SandboxState.CREATING);
    private final CompletableFuture<EndReason> end = new CompletableFuture<>();

    /** Held while it is paused or resumed. */
    private final ReentrantLock pausing = new ReentrantLock();

    /**
     * Creates one, ready for commands.
     *
     * @param run whose sandbox it is; empty when it is nobody's
     * @param owner told when it has ended, and of what its way out tells
     */
    static LiveSandbox create(
            Engine engine,
            SandboxSpec spec,
            EventBus events,
            Optional<String> run,
            EngineCaisson owner) {
        LiveSandbox sandbox = new LiveSandbox(engine, spec, events, run, owner);
        try {
            sandbox.awaitReady();
            return sandbox;
        } catch (CaissonException e) {
            sandbox.end(EndReason.ENGINE_FAILED);
            throw e;
        }
    }

    private LiveSandbox(
            Engine engine,
            SandboxSpec spec,
            EventBus events,
            Optional<String> run,
            EngineCaisson owner) {
        this.engine = engine;
        this.spec = spec;
        this.events = events;
        this.owner = owner;
        this.session = Ids.next(Ids.Kind.SESSION);
        this.id = engine.reserve(GROUP);
        EventBus.Subject about = EventBus.Subject.sandbox(id, session);
        this.subject = run.map(about::withRun).orElse(about);
        this.secrets = new LocalSecrets(spec.secrets());
        if (spec.egress().isPresent()) {
            owner.egress().about(id, reporter());
        }
        reporter().emit(EventType.SANDBOX_CREATED, "", this::createdData);
        this.hosted = hosted(requested());
        hosted.redaction().set(secrets.redactor());
    }

    private HostedSandbox hosted(EngineSandbox handle) {
        try {
            return new HostedSandbox(
                    handle,
                    new HostedSandbox.HostedSettings(
                            0, secrets.over(spec.env()), spec.allowDegraded(), spec.limits()),
                    new OwnHost(),
                    spec.root());
        } catch (CaissonException e) {
            handle.destroy();
            throw e;
        }
    }

    private EngineSandbox requested() {
        try {
            secrets.open(engine, id, GROUP);
            return engine.create(
                    new EngineRequest(
                            id,
                            GROUP,
                            spec.template(),
                            spec.limits(),
                            Optional.empty(),
                            spec.maxLife(),
                            Optional.empty(),
                            List.of(),
                            spec.root(),
                            egress()));
        } catch (CaissonException e) {
            reporter().emit(EventType.SANDBOX_ENDED, EndReason.ENGINE_FAILED.value(), Map::of);
            throw e;
        }
    }

    private Optional<EgressPlan> egress() {
        return spec.egress().map(document -> new EgressPlan(List.of(document), "", GROUP));
    }

    private void awaitReady() {
        EngineSandbox.Ready ready = hosted.awaitReady();
        state.compareAndSet(SandboxState.CREATING, SandboxState.RUNNING);
        reporter()
                .emit(
                        EventType.SANDBOX_STARTED,
                        "",
                        () ->
                                Map.of(
                                        "setupMicros",
                                        ready.setup().toNanos() / 1000,
                                        "degraded",
                                        ready.degraded()));
    }

    private Map<String, Object> createdData() {
        Map<String, Object> data = new HashMap<>();
        data.put("tier", engine.tier().value());
        data.put("engine", engine.name());
        data.put("template", spec.template());
        data.put("labels", spec.labels());
        spec.name().ifPresent(name -> data.put("name", name));
        data.put("cpuMillis", Math.round(spec.limits().cpus() * 1000));
        data.put("memoryBytes", spec.limits().memory().bytes());
        data.put("pids", (long) spec.limits().pids());
        data.put("diskBytes", spec.limits().disk().bytes());
        data.put("inodes", spec.limits().inodes());
        return data;
    }

    private Reporter reporter() {
        return events.about(subject);
    }

    EventBus.Subject subject() {
        return subject;
    }

    // ---- what it is

    @Override
    public String id() {
        return id;
    }

    @Override
    public String session() {
        return session;
    }

    @Override
    public SandboxSpec spec() {
        return spec;
    }

    @Override
    public Tier tier() {
        return engine.tier();
    }

    @Override
    public String engine() {
        return engine.name();
    }

    @Override
    public SandboxState state() {
        return state.get();
    }

    @Override
    public List<String> degraded() {
        return hosted.degraded();
    }

    @Override
    public LiveFiles files() {
        return hosted.liveFiles();
    }

    /** What is taken out of all that leaves it. */
    Redaction redaction() {
        return hosted.redaction();
    }

    @Override
    public Tunnel dial(int port) {
        return hosted.dial(port);
    }

    @Override
    public UserInfo addUser(String name) {
        return hosted.addUser(name);
    }

    @Override
    public Usage usage() {
        return hosted.engine().usage();
    }

    @Override
    public CompletionStage<EndReason> onEnd() {
        return StreamExec.detached(end);
    }

    // ---- commands

    @Override
    public Exec start(ExecSpec command, ExecListener listener) {
        if (listener.equals(ExecListener.NONE)) {
            return begin(command, new Delivery.Direct(), null);
        }
        return begin(command, SinkDelivery.telling(listener, "caisson-output-" + id()), null);
    }

    @Override
    public Exec pipe(ExecSpec command) {
        PipeDelivery pipes = new PipeDelivery();
        return begin(command.withCapture(false), pipes, pipes);
    }

    private Exec begin(ExecSpec command, Delivery delivery, @Nullable PipeDelivery pipes) {
        hosted.checkUser(command);
        checkNoSecrets(command);
        checkNotPaused();
        String exec = Ids.next(Ids.Kind.EXEC);
        Reporter reporter = redaction().over(events.about(subject.withExec(exec)));
        reporter.emit(
                EventType.EXEC_STARTED,
                "",
                () ->
                        Map.of(
                                "argv", command.argv(),
                                "cwd", command.cwd(),
                                "uid", (long) command.user().uid(),
                                "user", command.user().label()));
        return new LiveExec(hosted.begin(exec, command, delivery, new ExecEvents(reporter)), pipes);
    }

    private static void checkNoSecrets(ExecSpec command) {
        if (!command.secrets().isEmpty()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "There is no server here that keeps secrets for a command.")
                    .withRemedy("Give them to the sandbox: SandboxSpec.withSecrets.")
                    .withDetail("field", "secrets");
        }
    }

    private void checkNotPaused() {
        SandboxState now = state.get();
        if (now == SandboxState.PAUSED || now == SandboxState.PAUSING) {
            throw CaissonException.of(ErrorCode.INVALID_STATE, "The sandbox " + id + " is paused.")
                    .withRemedy("Resume it first.");
        }
    }

    // ---- pauses

    @Override
    public void pause() {
        change(
                SandboxState.RUNNING,
                SandboxState.PAUSING,
                SandboxState.PAUSED,
                EventType.SANDBOX_PAUSED,
                hosted.engine()::freeze);
    }

    @Override
    public void resume() {
        change(
                SandboxState.PAUSED,
                SandboxState.RESUMING,
                SandboxState.RUNNING,
                EventType.SANDBOX_RESUMED,
                hosted.engine()::thaw);
    }

    /** Does nothing when it is in the wanted state. */
    private void change(
            SandboxState from,
            SandboxState through,
            SandboxState to,
            EventType told,
            Runnable change) {
        pausing.lock();
        try {
            if (state.get() == to) {
                return;
            }
            if (!state.compareAndSet(from, through)) {
                throw CaissonException.of(
                        ErrorCode.SANDBOX_ENDED, "The sandbox " + id + " has ended.");
            }
            boolean done = false;
            try {
                change.run();
                done = true;
            } finally {
                state.compareAndSet(through, done ? to : from);
            }
            reporter().emit(told, "", Map::of);
        } finally {
            pausing.unlock();
        }
    }

    // ---- the end

    /** Ends it for a reason, once. */
    void end(EndReason reason) {
        SandboxState before =
                state.getAndUpdate(now -> now == SandboxState.ENDED ? now : SandboxState.ENDING);
        if (before != SandboxState.ENDED) {
            hosted.destroy(reason);
        }
    }

    boolean ended() {
        return end.isDone()
                || state.get() == SandboxState.ENDED
                || state.get() == SandboxState.LOST;
    }

    @Override
    public void close() {
        end(EndReason.DELETED);
    }

    /** Turns what happens into states and events. */
    private final class OwnHost implements HostedSandbox.Host {
        @Override
        public void ended(EngineSandbox.Ended ended) {
            EndReason reason = ended.reason();
            state.set(reason == EndReason.LOST ? SandboxState.LOST : SandboxState.ENDED);
            reporter(Optional.empty())
                    .emit(
                            EventType.SANDBOX_ENDED,
                            reason.value(),
                            () -> {
                                Map<String, Object> data =
                                        new HashMap<>(LiveExec.usageData(ended.usage()));
                                data.put("detail", ended.detail());
                                return data;
                            });
            Thread.ofVirtual().name("caisson-secrets").start(() -> secrets.close(engine));
            owner.gone(LiveSandbox.this);
            end.complete(reason);
        }

        @Override
        public Reporter reporter(Optional<String> exec) {
            return events.about(exec.map(subject::withExec).orElse(subject));
        }

        @Override
        public boolean outlives() {
            return false;
        }
    }
}
