package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.Tunnel;
import dev.caisson.api.UserInfo;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchListener;
import dev.caisson.wire.agent.ExecState;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A sandbox over its engine and the data channel to its agent; it may outlive its client: for
 * servers. Safe for use by several threads.
 *
 * <p>Closing it closes the channel only; {@link #destroy} ends the sandbox. What its agent keeps
 * unacknowledged is found again by {@link #attach} and {@link #adopt}, also by another process
 * after this one was killed.
 */
public final class HostedSandbox implements AutoCloseable {
    private static final long ENGINES_WORD_SECONDS = 2;
    private static final int EPOCH_BITS = 32;

    /** Whom a sandbox tells; nothing here may block. */
    interface Host {
        /** It is gone; by a thread of the engine. */
        void ended(EngineSandbox.Ended ended);

        /** What takes events about it, or about an exec of it. */
        Reporter reporter(Optional<String> exec);

        /** Whether it may live on without this client. */
        boolean outlives();
    }

    private final EngineSandbox handle;
    private final HostedSettings settings;
    private final Host host;
    private final boolean root;
    private final AtomicReference<@Nullable EndReason> wantedEnd = new AtomicReference<>();
    private final CompletableFuture<EngineSandbox.Ended> end = new CompletableFuture<>();
    private final Redaction redaction = new Redaction();
    private final AgentClient client;
    private final Transfers transfers;
    private final LiveFiles files;
    private volatile List<String> degraded = List.of();
    private volatile List<KnownExec> known = List.of();
    private volatile Duration setup = Duration.ZERO;
    private volatile boolean closed;

    /**
     * How a sandbox is used.
     *
     * @param firstEpoch 0 to 2^31-1; above every one that was used with this sandbox before, so
     *     that numbers of connections and of streams never repeat: for instance the number of the
     *     server's start
     * @param env environment of every exec, beneath the exec's own
     * @param allowDegraded whether a host that cannot do all is accepted
     * @param limits of execs: timeout, open files, output
     */
    public record HostedSettings(
            long firstEpoch, Map<String, String> env, boolean allowDegraded, Limits limits) {
        /** Copies the map. */
        public HostedSettings {
            env = Map.copyOf(env);
            if (firstEpoch < 0 || firstEpoch > Integer.MAX_VALUE) {
                throw CaissonException.invalid("firstEpoch", "An epoch is 0 to 2^31-1.");
            }
        }
    }

    /** Told what happens to a sandbox. */
    public interface HostedListener {
        /** The sandbox is gone, for whatever reason. Called once, on a thread of its own. */
        void ended(EngineSandbox.Ended ended);

        /**
         * A client did something with files or signals, or the data channel broke or came back;
         * what an exec does is told to its {@link ExecSink} only. Must not block.
         */
        default void event(
                EventType type, Optional<String> exec, String reason, Map<String, Object> data) {}
    }

    /**
     * Creates one, ready for commands.
     *
     * @param request with a reserved id; its lease is renewed by the caller
     * @param listener not told when this throws
     * @throws CaissonException {@link ErrorCode#UNSUPPORTED} when the host cannot do all that a
     *     sandbox needs and the settings do not allow that, and what engines throw; nothing is left
     *     of the sandbox then
     */
    public static HostedSandbox create(
            Engine engine,
            EngineRequest request,
            HostedSettings settings,
            HostedListener listener) {
        ListenerHost host = new ListenerHost(listener, request.sandbox());
        EngineSandbox handle = engine.create(request);
        try {
            HostedSandbox sandbox = new HostedSandbox(handle, settings, host, request.root());
            sandbox.awaitReady();
            return sandbox;
        } catch (CaissonException e) {
            host.mute();
            handle.destroy();
            throw e;
        }
    }

    /**
     * Connects to a leased sandbox that lives already, and waits for its agent's word.
     *
     * @param firstEpoch used instead of that of the settings
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} or {@link ErrorCode#SANDBOX_ENDED} when
     *     it is not there, {@link ErrorCode#INVALID_STATE} when a client of a higher epoch has it;
     *     the sandbox is left as it is
     */
    public static HostedSandbox attach(
            Engine engine,
            String sandbox,
            long firstEpoch,
            HostedSettings settings,
            HostedListener listener) {
        ListenerHost host = new ListenerHost(listener, sandbox);
        HostedSettings own =
                new HostedSettings(
                        firstEpoch, settings.env(), settings.allowDegraded(), settings.limits());
        HostedSandbox attached = new HostedSandbox(engine.attach(sandbox), own, host, true);
        try {
            attached.known =
                    Transfers.join(attached.client.welcomed()).stream()
                            .map(HostedSandbox::known)
                            .toList();
        } catch (CaissonException e) {
            host.mute();
            attached.close();
            throw e;
        }
        return attached;
    }

    private static KnownExec known(ExecState state) {
        return new KnownExec(
                state.getExec(),
                state.getStream(),
                state.getEnded(),
                state.getFirstSeq(),
                state.getLastSeq(),
                state.getStdinReceived());
    }

    /**
     * One whose creation was asked for; when this throws the caller destroys it.
     *
     * @param root whether this client lets commands of uid 0 through; the agent decides too
     */
    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    HostedSandbox(EngineSandbox handle, HostedSettings settings, Host host, boolean root) {
        this.handle = handle;
        this.settings = settings;
        this.host = host;
        this.root = root;
        handle.onEnd().thenAccept(this::gone);
        this.client = connected();
        this.transfers = new Transfers(client, redaction);
        this.files = new LiveFiles(transfers, reporter(Optional.empty()));
    }

    private AgentClient connected() {
        try {
            return openClient();
        } catch (ClosedByInterruptException e) {
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while " + id() + " was made.", e);
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED,
                    "The engine's connection for " + id() + " failed: " + e,
                    e);
        }
    }

    private AgentClient openClient() throws IOException {
        String name = "caisson-agent-" + id();
        long base = settings.firstEpoch() << EPOCH_BITS;
        try {
            return AgentClient.open(new ChannelOwner(), name, base + 1, base);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // The connection may have overtaken the creation, or that failed, which tells more.
            handle.awaitCreated();
            return AgentClient.open(new ChannelOwner(), name, base + 2, base);
        }
    }

    /** Waits until it takes commands. */
    EngineSandbox.Ready awaitReady() {
        EngineSandbox.Ready ready = handle.awaitCreated();
        if (!ready.degraded().isEmpty() && !settings.allowDegraded()) {
            throw CaissonException.of(
                            ErrorCode.UNSUPPORTED,
                            "This host cannot do all that a sandbox needs: "
                                    + String.join(" ", ready.degraded()))
                    .withRemedy(
                            "Give the host what is missing, or allow degraded operation for this"
                                    + " sandbox.");
        }
        degraded = ready.degraded();
        setup = ready.setup();
        return ready;
    }

    // ---- what it is

    /** The id. */
    public String id() {
        return handle.id();
    }

    /** What this host could not do for it, one sentence each; empty after {@link #attach}. */
    public List<String> degraded() {
        return degraded;
    }

    /** The sandbox as its engine holds it: leases, limits, freezing, saving, observing. */
    public EngineSandbox engine() {
        return handle;
    }

    /** How long the engine took to make it; zero after {@link #attach}. */
    public Duration setup() {
        return setup;
    }

    /** What the agent knew when this client attached; empty after {@link #create}. */
    public List<KnownExec> knownExecs() {
        return known;
    }

    /** What is taken out of all that leaves it: output of commands and files. */
    public Redaction redaction() {
        return redaction;
    }

    // ---- commands

    /**
     * Starts a command. Returns as soon as it is on its way.
     *
     * @param execId from {@link Ids}; the agent starts no exec of the same id twice
     * @param spec its limits on captured output are not used
     * @throws CaissonException {@link ErrorCode#SANDBOX_ENDED}, {@link ErrorCode#POLICY_DENIED} for
     *     uid 0 where the sandbox was not created for it
     */
    public HostedExec start(String execId, ExecSpec spec, ExecSink sink) {
        return begin(
                execId,
                spec.withCapture(false),
                new SinkDelivery(sink, "caisson-exec-" + execId),
                new RedactionEvents(reporter(Optional.of(execId))));
    }

    /** Tells events about it, or about an exec of it, without secrets. */
    private Reporter reporter(Optional<String> exec) {
        return redaction.over(host.reporter(exec));
    }

    StreamExec begin(String execId, ExecSpec spec, Delivery delivery, ExecObserver observer) {
        checkUser(spec);
        ExecStream stream =
                new ExecStream(
                        client,
                        StartMessage.of(execId, spec, settings.env(), settings.limits()),
                        options(spec),
                        delivery,
                        observer);
        stream.begin();
        return new StreamExec(execId, stream, reporter(Optional.of(execId)));
    }

    /** Refuses uid 0 where the sandbox was not made for it. */
    void checkUser(ExecSpec spec) {
        if (spec.user().isRoot() && !root) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The policy does not allow root inside a sandbox.")
                    .withRemedy("Run the command as the user sandbox.");
        }
    }

    private ExecOptions options(ExecSpec spec) {
        Limits limits = settings.limits();
        Instant start = Instant.now();
        return new ExecOptions(
                spec.capture(),
                spec.outputLimit().orElse(limits.outputLimit()).bytes(),
                spec.onOutputLimit().orElse(limits.onOutputLimit()) == OnOutputLimit.KILL,
                degraded,
                host.outlives(),
                handle.hasEgress() ? Optional.of(() -> handle.refusals(start)) : Optional.empty(),
                redaction);
    }

    /**
     * Takes over an exec that an earlier client started: the sink gets the events behind a
     * position, each once. The data channel is opened again for it, so file transfers, tunnels and
     * listings that are under way break: adopt first, then let others in.
     *
     * <p>When the position is the end itself, the agent forgets the exec; the sink is told nothing
     * and {@link HostedExec#onExit} fails with {@link ErrorCode#INVALID_STATE}.
     *
     * @param known of {@link #knownExecs}
     * @param from what was kept of it before
     * @param spec as it was started
     * @throws CaissonException {@link ErrorCode#INVALID} when the position is not one of this exec,
     *     {@link ErrorCode#INVALID_STATE} when the agent has forgotten events behind it
     */
    public HostedExec adopt(KnownExec known, Position from, ExecSpec spec, ExecSink sink) {
        if (from.seq() > known.lastSeq() || from.stdinReceived() > known.stdinReceived()) {
            throw CaissonException.invalid(
                    "from", "The exec " + known.exec() + " has not come to " + from + " yet.");
        }
        if (from.seq() < known.firstSeq() - 1) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE,
                    "Events of the exec " + known.exec() + " behind " + from + " are forgotten.");
        }
        ExecSpec plain = spec.withCapture(false);
        Reporter reporter = reporter(Optional.of(known.exec()));
        ExecStream stream =
                ExecStream.adopt(
                        client,
                        known,
                        from,
                        StartMessage.of(known.exec(), plain, settings.env(), settings.limits()),
                        options(plain),
                        new SinkDelivery(sink, "caisson-exec-" + known.exec()),
                        new RedactionEvents(reporter));
        stream.takeUp();
        reporter.emit(EventType.EXEC_ADOPTED, "", () -> Map.of("seq", from.seq()));
        return new StreamExec(known.exec(), stream, reporter);
    }

    // ---- what else goes over the channel

    /** Its files. Transfers break with the data channel and may be tried again. */
    public SandboxFiles files() {
        return files;
    }

    LiveFiles liveFiles() {
        return files;
    }

    /**
     * Connects to a TCP port on its loopback; it breaks with the data channel.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND} when nothing listens there
     */
    public Tunnel dial(int port) {
        return transfers.dial(port);
    }

    /** Tells what happens in a folder; as {@link SandboxFiles#watch}. */
    public Watch watch(String path, boolean recursive, WatchListener listener) {
        return files.watch(path, recursive, listener);
    }

    /** Makes a user inside; nothing changes when it is there. */
    public UserInfo addUser(String name) {
        return transfers.addUser(name);
    }

    // ---- the end

    /**
     * Ends it; returns when all its processes are dead. Does nothing the second time.
     *
     * @param reason told instead of {@link EndReason#DELETED}
     */
    public EngineSandbox.Ended destroy(EndReason reason) {
        wantedEnd.compareAndSet(null, reason);
        client.close();
        return asWanted(handle.destroy());
    }

    /**
     * Closes the channel; the sandbox and its execs live on. Sinks are told nothing more, and
     * {@link HostedExec#onExit} of execs that still run fails with {@link ErrorCode#CANCELLED}; the
     * listener is told nothing more either.
     */
    @Override
    public void close() {
        closed = true;
        client.close(
                CaissonException.of(
                        ErrorCode.CANCELLED, "This client of " + id() + " was closed."));
    }

    private EngineSandbox.Ended asWanted(EngineSandbox.Ended ended) {
        EndReason wanted = wantedEnd.get();
        return ended.reason() == EndReason.DELETED && wanted != null
                ? new EngineSandbox.Ended(wanted, ended.detail(), ended.usage())
                : ended;
    }

    private void gone(EngineSandbox.Ended ended) {
        EngineSandbox.Ended told = asWanted(ended);
        if (client != null) {
            client.close(over(told));
        }
        if (!closed) {
            host.ended(told);
        }
        end.complete(told);
    }

    /**
     * Why nothing more is heard. An engine that is away is no end of a sandbox that may live on
     * without this client, and so none of its execs.
     */
    private CaissonException over(EngineSandbox.Ended told) {
        if (told.reason() == EndReason.LOST && host.outlives()) {
            return CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE,
                            "The engine of " + id() + " is away: " + told.detail())
                    .withRemedy("Try again in a few seconds.");
        }
        return CaissonException.of(
                ErrorCode.SANDBOX_ENDED,
                "The sandbox " + id() + " has ended: " + told.reason().value() + ".");
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

        private Reporter reporter() {
            return HostedSandbox.this.reporter(Optional.empty());
        }

        @Override
        public void broken(CaissonException cause) {
            if (closed || wantedEnd.get() != null || end.isDone()) {
                return;
            }
            boolean takenOver = cause.code() == ErrorCode.INVALID_STATE && host.outlives();
            reporter()
                    .emit(
                            EventType.CONNECTION_LOST,
                            takenOver ? "taken_over" : "broken",
                            () -> Map.of("cause", cause.message()));
            if (!takenOver) {
                Thread.ofVirtual().name("caisson-end-" + id()).start(() -> endBroken(cause));
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
            destroy(EndReason.ENGINE_FAILED);
        }
    }

    /** Tells a listener on threads that are not the engine's. */
    private static final class ListenerHost implements Host {
        private final HostedListener listener;
        private final String id;
        private volatile boolean muted;

        ListenerHost(HostedListener listener, String id) {
            this.listener = listener;
            this.id = id;
        }

        void mute() {
            muted = true;
        }

        @Override
        public void ended(EngineSandbox.Ended ended) {
            if (!muted) {
                Thread.ofVirtual().name("caisson-ended-" + id).start(() -> listener.ended(ended));
            }
        }

        @Override
        public Reporter reporter(Optional<String> exec) {
            return (type, reason, data) -> {
                if (!muted) {
                    listener.event(type, exec, reason, data.get());
                }
            };
        }

        @Override
        public boolean outlives() {
            return true;
        }
    }
}
