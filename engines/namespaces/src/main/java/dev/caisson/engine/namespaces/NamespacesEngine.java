package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.Ended;
import dev.caisson.wire.launcher.Limits;
import dev.caisson.wire.launcher.Prepare;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Welcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The engine {@code namespaces}: an installed launcher, or a private one that ends with this engine. */
public final class NamespacesEngine implements Engine {
    /** Ids that the launcher is told in advance, so that it can keep children ready for them. */
    private static final int AHEAD = 3;

    private final LauncherConnection launcher;
    private final @Nullable LauncherProcess process;
    private final Map<String, NamespacesSandbox> live;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, ArrayDeque<String>> reserved = new HashMap<>(); // guarded by lock

    private NamespacesEngine(
            LauncherConnection launcher, @Nullable LauncherProcess process, Map<String, NamespacesSandbox> live) {
        this.launcher = launcher;
        this.process = process;
        this.live = live;
    }

    /**
     * Opens the engine of this host: an installed launcher when its socket is there, else a private one.
     *
     * @throws CaissonException {@link ErrorCode#LAUNCHER_UNAVAILABLE} and others, saying what is missing and how to get it
     */
    public static NamespacesEngine open() {
        return open(LauncherConfig.ofHost());
    }

    /** Opens the engine as configured. */
    public static NamespacesEngine open(LauncherConfig config) {
        if (config.installed()) {
            return connect(config.socket(), null);
        }
        LauncherProcess process = LauncherProcess.start(config);
        try {
            return connect(process.socket(), process);
        } catch (CaissonException e) {
            process.close();
            throw e;
        }
    }

    /** Connects to the launcher that listens on a socket. */
    public static NamespacesEngine connect(Path socket) {
        return connect(socket, null);
    }

    private static NamespacesEngine connect(Path socket, @Nullable LauncherProcess process) {
        Map<String, NamespacesSandbox> live = new ConcurrentHashMap<>();
        try {
            return new NamespacesEngine(LauncherConnection.open(socket, new Endings(live)), process, live);
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE, "No launcher answers on " + socket + ": " + e.getMessage(), e)
                    .withRemedy("Start the caisson-launcher service, and be a member of the group that its socket belongs to.");
        }
    }

    /** Tells sandboxes of their end. */
    private record Endings(Map<String, NamespacesSandbox> live) implements LauncherConnection.Watcher {
        @Override
        public void ended(Ended ended) {
            NamespacesSandbox sandbox = live.remove(ended.getSandbox());
            if (sandbox != null) {
                sandbox.ended(ended);
            }
        }

        @Override
        public void lost(CaissonException cause) {
            live.forEach((id, sandbox) -> {
                live.remove(id);
                sandbox.end(new EngineSandbox.Ended(EndReason.LOST, cause.message(), Usage.NONE));
            });
        }
    }

    @Override
    public String name() {
        return "namespaces";
    }

    @Override
    public Tier tier() {
        return Tier.CONTAINER;
    }

    @Override
    public Capabilities capabilities() {
        return new Capabilities(false, false, true);
    }

    @Override
    public HostFacts host() {
        Welcome welcome = launcher.welcome();
        return new HostFacts(welcome.getKernel(), welcome.getTemplatesList(), welcome.getDegradedList());
    }

    @Override
    public String reserve(String group) {
        lock.lock();
        try {
            String next = reserved(group).pollFirst();
            return next == null ? Ids.next(Ids.Kind.SANDBOX) : next;
        } finally {
            lock.unlock();
        }
    }

    private ArrayDeque<String> reserved(String group) {
        return reserved.computeIfAbsent(group, unused -> new ArrayDeque<>());
    }

    /** Tells the launcher which sandboxes will be created next. */
    public void prepare(String group) {
        List<String> fresh = new ArrayList<>();
        lock.lock();
        try {
            ArrayDeque<String> ids = reserved(group);
            while (ids.size() < AHEAD) {
                String id = Ids.next(Ids.Kind.SANDBOX);
                ids.add(id);
                fresh.add(id);
            }
        } finally {
            lock.unlock();
        }
        if (!fresh.isEmpty()) {
            launcher.request(Request.newBuilder()
                    .setPrepare(Prepare.newBuilder().setGroup(group).addAllSandboxes(fresh)));
        }
    }

    @Override
    public EngineSandbox create(EngineRequest request) {
        CompletableFuture<Reply> creation = launcher.request(Request.newBuilder().setCreate(message(request)));
        NamespacesSandbox sandbox = adopt(request.sandbox(), creation);
        // Behind the creation, so that it does not wait for it.
        prepare(request.group());
        return sandbox;
    }

    private NamespacesSandbox adopt(String id, CompletableFuture<Reply> creation) {
        NamespacesSandbox sandbox = new NamespacesSandbox(id, launcher, creation);
        live.put(id, sandbox);
        sandbox.onEnd().thenRun(() -> live.remove(id));
        return sandbox;
    }

    private static Create message(EngineRequest request) {
        Create.Builder create = Create.newBuilder()
                .setSandbox(request.sandbox())
                .setGroup(request.group())
                .setTemplate(request.template())
                .setLimits(limits(request.limits()));
        request.lease().ifPresent(lease -> create.setLeased(true).setLeaseMillis(lease.toMillis()));
        request.maxLife().ifPresent(life -> create.setMaxLifeMillis(life.toMillis()));
        return create.build();
    }

    private static Limits limits(dev.caisson.api.Limits limits) {
        Limits.Builder wire = Limits.newBuilder()
                .setCpuMillis(Math.max(10, Math.round(limits.cpus() * 1000)))
                .setMemoryBytes(limits.memory().bytes())
                .setPids(limits.pids())
                .setDiskBytes(limits.disk().bytes())
                .setInodes(limits.inodes());
        limits.ioRate().ifPresent(rate -> wire.setIoBytesPerSecond(rate.bytes()));
        return wire.build();
    }

    @Override
    public EngineSandbox attach(String sandbox) {
        Reply there = LauncherConnection.await(
                launcher.request(Request.newBuilder()
                        .setObserve(dev.caisson.wire.launcher.Observe.newBuilder()
                                .setSandbox(sandbox))),
                "The sandbox " + sandbox + " cannot be attached");
        Reply created = there.toBuilder()
                .setCreated(dev.caisson.wire.launcher.Created.newBuilder().setSandbox(sandbox))
                .build();
        return adopt(sandbox, CompletableFuture.completedFuture(created));
    }

    @Override
    public void close() {
        launcher.close();
        if (process != null) {
            process.close();
        }
    }
}
