package dev.caisson.core;

import com.google.protobuf.ByteString;
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
import dev.caisson.wire.agent.ExecStart;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A sandbox over its engine and the data channel to its agent. */
final class LiveSandbox implements Sandbox {
    static final String GROUP = "local";

    private static final long ENGINES_WORD_SECONDS = 2;

    private final Engine engine;
    private final SandboxSpec spec;
    private final EventBus events;
    private final EventBus.Subject subject;
    private final String session;
    private final EngineSandbox handle;
    private final Consumer<LiveSandbox> onGone;
    private final AgentClient client;
    private final LiveFiles files;
    private final AtomicReference<SandboxState> state =
            new AtomicReference<>(SandboxState.CREATING);
    private final AtomicReference<@Nullable EndReason> wantedEnd = new AtomicReference<>();
    private final CompletableFuture<EndReason> end = new CompletableFuture<>();
    private volatile List<String> degraded = List.of();

    /** Emits events about one subject. */
    record Reporter(EventBus events, EventBus.Subject subject) {
        void emit(EventType type, String reason, Supplier<Map<String, Object>> data) {
            if (events.active()) {
                events.emit(type, subject, reason, data.get());
            }
        }
    }

    /**
     * Creates one, ready for commands.
     *
     * @param run whose sandbox it is; empty when it is nobody's
     * @param onGone told when it has ended
     */
    static LiveSandbox create(
            Engine engine,
            SandboxSpec spec,
            EventBus events,
            Optional<String> run,
            Consumer<LiveSandbox> onGone) {
        LiveSandbox sandbox = new LiveSandbox(engine, spec, events, run, onGone);
        try {
            sandbox.awaitReady();
            return sandbox;
        } catch (CaissonException e) {
            sandbox.end(EndReason.ENGINE_FAILED);
            throw e;
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private LiveSandbox(
            Engine engine,
            SandboxSpec spec,
            EventBus events,
            Optional<String> run,
            Consumer<LiveSandbox> onGone) {
        this.engine = engine;
        this.spec = spec;
        this.events = events;
        this.onGone = onGone;
        this.session = Ids.next(Ids.Kind.SESSION);
        String id = engine.reserve(GROUP);
        EventBus.Subject about = EventBus.Subject.sandbox(id, session);
        this.subject = run.map(about::withRun).orElse(about);
        reporter().emit(EventType.SANDBOX_CREATED, "", this::createdData);
        this.handle = requested(id);
        handle.onEnd().thenAccept(this::gone);
        this.client = connected();
        Transfers transfers = new Transfers(client);
        this.files = new LiveFiles(transfers, reporter());
    }

    private EngineSandbox requested(String id) {
        try {
            return engine.create(
                    EngineRequest.of(
                            id,
                            GROUP,
                            spec.template(),
                            spec.limits(),
                            Optional.empty(),
                            spec.maxLife()));
        } catch (CaissonException e) {
            reporter().emit(EventType.SANDBOX_ENDED, EndReason.ENGINE_FAILED.value(), Map::of);
            throw e;
        }
    }

    private AgentClient connected() {
        try {
            return openClient();
        } catch (ClosedByInterruptException e) {
            handle.destroy();
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while " + handle.id() + " was made.", e);
        } catch (IOException e) {
            handle.destroy();
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED,
                    "The engine's connection for " + handle.id() + " failed: " + e,
                    e);
        } catch (CaissonException e) {
            handle.destroy();
            throw e;
        }
    }

    private AgentClient openClient() throws IOException {
        String name = "caisson-agent-" + handle.id();
        try {
            return AgentClient.open(new ChannelOwner(), name, 1);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // The connection may have overtaken the creation, or that failed, which tells more.
            handle.awaitCreated();
            return AgentClient.open(new ChannelOwner(), name, 2);
        }
    }

    private void awaitReady() {
        EngineSandbox.Ready ready = handle.awaitCreated();
        if (!ready.degraded().isEmpty() && !spec.allowDegraded()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "This host cannot do all that a sandbox needs: "
                                    + String.join(" ", ready.degraded()))
                    .withRemedy(
                            "Give the host what is missing, or allow degraded operation for this"
                                    + " sandbox.");
        }
        degraded = ready.degraded();
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
                                        degraded));
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

    Reporter reporter() {
        return new Reporter(events, subject);
    }

    EventBus.Subject subject() {
        return subject;
    }

    // ---- what it is

    @Override
    public String id() {
        return handle.id();
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
        return degraded;
    }

    @Override
    public LiveFiles files() {
        return files;
    }

    @Override
    public Tunnel dial(int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public UserInfo addUser(String name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void pause() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void resume() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Usage usage() {
        return handle.usage();
    }

    @Override
    public CompletionStage<EndReason> onEnd() {
        return LiveExec.detached(end);
    }

    // ---- commands

    @Override
    public Exec start(ExecSpec command, ExecListener listener) {
        if (listener.equals(ExecListener.NONE)) {
            return begin(command, new Delivery.Direct(), null);
        }
        return begin(command, new ListenerDelivery(listener, "caisson-output-" + id()), null);
    }

    @Override
    public Exec pipe(ExecSpec command) {
        PipeDelivery pipes = new PipeDelivery();
        return begin(command.withCapture(false), pipes, pipes);
    }

    private Exec begin(ExecSpec command, Delivery delivery, @Nullable PipeDelivery pipes) {
        String id = Ids.next(Ids.Kind.EXEC);
        Reporter reporter = new Reporter(events, subject.withExec(id));
        ExecStream.Options options =
                new ExecStream.Options(
                        command.capture(),
                        command.outputLimit().orElse(spec.limits().outputLimit()).bytes(),
                        command.onOutputLimit().orElse(spec.limits().onOutputLimit())
                                == dev.caisson.api.OnOutputLimit.KILL,
                        degraded);
        ExecStream stream =
                new ExecStream(
                        client,
                        startMessage(id, command),
                        options,
                        delivery,
                        new ExecEvents(reporter));
        reporter.emit(
                EventType.EXEC_STARTED,
                "",
                () ->
                        Map.of(
                                "argv", command.argv(),
                                "cwd", command.cwd(),
                                "uid", (long) command.user().uid()));
        stream.begin();
        return new LiveExec(id, stream, reporter, pipes);
    }

    private ExecStart startMessage(String id, ExecSpec command) {
        ExecStart.Builder start =
                ExecStart.newBuilder()
                        .setExec(id)
                        .setCwd(ByteString.copyFrom(Names.unescape(command.cwd())))
                        .setUid(command.user().uid())
                        .setGid(command.user().gid())
                        .setTimeoutMillis(
                                command.timeout().orElse(spec.limits().timeout()).toMillis())
                        .setGraceMillis(command.grace().toMillis())
                        .setOverflow(
                                switch (command.overflow()) {
                                    case WAIT -> dev.caisson.wire.agent.Overflow.OVERFLOW_BLOCK;
                                    case DROP -> dev.caisson.wire.agent.Overflow.OVERFLOW_DROP;
                                })
                        .setStdinOpen(command.stdin())
                        .setLinger(command.linger())
                        .setOpenFiles(spec.limits().openFiles());
        command.argv().forEach(argument -> start.addArgv(ByteString.copyFromUtf8(argument)));
        Map<String, String> env = new LinkedHashMap<>(BASE_ENV);
        env.putAll(spec.env());
        env.putAll(command.env());
        env.forEach((name, value) -> start.addEnv(ByteString.copyFromUtf8(name + "=" + value)));
        return start.build();
    }

    private static final Map<String, String> BASE_ENV =
            Map.of(
                    "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME", "/home/sandbox",
                    "LANG", "C.UTF-8");

    // ---- the end

    /** Ends it for a reason, once. */
    void end(EndReason reason) {
        wantedEnd.compareAndSet(null, reason);
        SandboxState before =
                state.getAndUpdate(now -> now == SandboxState.ENDED ? now : SandboxState.ENDING);
        if (before == SandboxState.ENDED) {
            return;
        }
        client.close();
        handle.destroy();
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

    private void gone(EngineSandbox.Ended ended) {
        EndReason wanted = wantedEnd.get();
        EndReason reason =
                ended.reason() == EndReason.DELETED && wanted != null ? wanted : ended.reason();
        state.set(reason == EndReason.LOST ? SandboxState.LOST : SandboxState.ENDED);
        if (client != null) {
            client.close(
                    CaissonException.of(
                            ErrorCode.SANDBOX_ENDED,
                            "The sandbox " + handle.id() + " has ended: " + reason.value() + "."));
        }
        reporter()
                .emit(
                        EventType.SANDBOX_ENDED,
                        reason.value(),
                        () -> {
                            Map<String, Object> data =
                                    new HashMap<>(LiveExec.usageData(ended.usage()));
                            data.put("detail", ended.detail());
                            return data;
                        });
        onGone.accept(this);
        end.complete(reason);
    }

    /** Connects, and tells what happens to the channel. */
    private final class ChannelOwner implements AgentClient.Owner {
        @Override
        public DataLink connect(long epoch) throws IOException {
            return handle.connect(epoch);
        }

        @Override
        public void lost(String cause) {
            reporter().emit(EventType.CONNECTION_LOST, "", () -> Map.of("cause", cause));
        }

        @Override
        public void resumed(long epoch) {
            reporter().emit(EventType.CONNECTION_RESUMED, "", () -> Map.of("epoch", epoch));
        }

        @Override
        public void broken(CaissonException cause) {
            if (state.get() == SandboxState.RUNNING || state.get() == SandboxState.CREATING) {
                Thread.ofVirtual().name("caisson-end-" + handle.id()).start(() -> endBroken(cause));
            }
        }

        /**
         * A sandbox that ended by itself says why on another connection, which may be slower than
         * this one.
         */
        private void endBroken(CaissonException cause) {
            if (cause.code() == ErrorCode.SANDBOX_ENDED) {
                try {
                    end.get(ENGINES_WORD_SECONDS, TimeUnit.SECONDS);
                    return;
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (ExecutionException | TimeoutException e) {
                    // The engine says nothing: it is ended here.
                }
            }
            end(EndReason.ENGINE_FAILED);
        }
    }
}
