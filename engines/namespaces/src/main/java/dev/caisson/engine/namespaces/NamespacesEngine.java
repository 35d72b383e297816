package dev.caisson.engine.namespaces;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import dev.caisson.core.EgressGateway;
import dev.caisson.core.EgressListener;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.Ids;
import dev.caisson.wire.launcher.DropSnapshot;
import dev.caisson.wire.launcher.DropVolume;
import dev.caisson.wire.launcher.Ended;
import dev.caisson.wire.launcher.ListSnapshots;
import dev.caisson.wire.launcher.ListVolumes;
import dev.caisson.wire.launcher.MakeVolume;
import dev.caisson.wire.launcher.ObserveAll;
import dev.caisson.wire.launcher.Prepare;
import dev.caisson.wire.launcher.RenewMany;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Welcome;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The engine {@code namespaces}: an installed launcher, or a private one that ends with this
 * engine.
 */
public final class NamespacesEngine implements Engine {
    /** Ids that the launcher is told in advance, so that it can keep children ready for them. */
    private static final int AHEAD = 3;

    /** Ids that fit into one request. */
    private static final int RENEWED_AT_ONCE = 1000;

    private final LauncherConnection launcher;
    private final @Nullable LauncherProcess process;
    private final Map<String, NamespacesSandbox> live;
    private final CompletableFuture<CaissonException> lost;
    private final Outlet outlet;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, ArrayDeque<String>> reserved = new HashMap<>(); // guarded by lock

    private NamespacesEngine(
            LauncherConnection launcher,
            @Nullable LauncherProcess process,
            Map<String, NamespacesSandbox> live,
            CompletableFuture<CaissonException> lost) {
        this.launcher = launcher;
        this.process = process;
        this.live = live;
        this.lost = lost;
        this.outlet = new Outlet(launcher);
    }

    /**
     * Opens the engine of this host: an installed launcher when its socket is there, else a private
     * one.
     *
     * @throws CaissonException {@link ErrorCode#LAUNCHER_UNAVAILABLE} and others, saying what is
     *     missing and how to get it
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
            CompletableFuture<CaissonException> lost = new CompletableFuture<>();
            return new NamespacesEngine(
                    LauncherConnection.open(socket, new Endings(live, lost)), process, live, lost);
        } catch (IOException e) {
            throw CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE,
                            "No launcher answers on " + socket + ": " + e.getMessage(),
                            e)
                    .withRemedy(
                            "Start the caisson-launcher service, and be a member of the group that"
                                    + " its socket belongs to.");
        }
    }

    /** Tells sandboxes of their end. */
    private record Endings(
            Map<String, NamespacesSandbox> live, CompletableFuture<CaissonException> lost)
            implements LauncherConnection.Watcher {
        @Override
        public void ended(Ended ended) {
            NamespacesSandbox sandbox = live.get(ended.getSandbox());
            // While a creation is not answered this is about an earlier one of the same name, whose
            // end was asked for and has been answered just before.
            if (sandbox != null && sandbox.isCreated()) {
                sandbox.ended(ended);
            }
        }

        @Override
        public void lost(CaissonException cause, boolean closedHere) {
            if (!closedHere) {
                lost.complete(cause);
            }
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
        return new Capabilities(true, false, true, outlet.present());
    }

    @Override
    public HostFacts host() {
        Welcome welcome = launcher.welcome();
        return new HostFacts(
                welcome.getKernel(), welcome.getTemplatesList(), welcome.getDegradedList());
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
        return reserved.computeIfAbsent(group, _ -> new ArrayDeque<>());
    }

    /** Tells the launcher which sandboxes will be created next. */
    @SuppressWarnings("FutureReturnValueIgnored") // a hint, whose failure changes nothing
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
            launcher.request(
                    Request.newBuilder()
                            .setPrepare(
                                    Prepare.newBuilder().setGroup(group).addAllSandboxes(fresh)));
        }
    }

    @Override
    public EngineSandbox create(EngineRequest request) {
        request.egress().ifPresent(plan -> outlet.open().put(request.sandbox(), plan));
        CompletableFuture<Reply> creation =
                launcher.request(Request.newBuilder().setCreate(Messages.create(request)));
        NamespacesSandbox sandbox = adopt(request.sandbox(), creation);
        if (request.egress().isPresent()) {
            sandbox.opened();
            if (request.lease().isEmpty()) {
                dropAtEnd(sandbox);
            }
        }
        // Behind the creation, so that it does not wait for it.
        prepare(request.group());
        return sandbox;
    }

    /** Nobody will make an owned sandbox again, so what the gateway keeps of it goes with it. */
    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private void dropAtEnd(NamespacesSandbox sandbox) {
        sandbox.onEnd().thenRun(() -> outlet.open().drop(sandbox.id()));
    }

    @Override
    public EgressGateway gateway(EgressListener listener, long eventsAfter) {
        return outlet.open(listener, eventsAfter);
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private NamespacesSandbox adopt(String id, CompletableFuture<Reply> creation) {
        NamespacesSandbox sandbox = new NamespacesSandbox(id, launcher, outlet, creation);
        live.put(id, sandbox);
        // Another of the same name may have taken its place.
        sandbox.onEnd().thenRun(() -> live.remove(id, sandbox));
        return sandbox;
    }

    @Override
    public EngineSandbox attach(String sandbox) {
        Reply there =
                LauncherConnection.await(
                        launcher.request(
                                Request.newBuilder()
                                        .setObserve(
                                                dev.caisson.wire.launcher.Observe.newBuilder()
                                                        .setSandbox(sandbox))),
                        "The sandbox " + sandbox + " cannot be attached");
        Reply created =
                there.toBuilder()
                        .setCreated(
                                dev.caisson.wire.launcher.Created.newBuilder().setSandbox(sandbox))
                        .build();
        return adopt(sandbox, CompletableFuture.completedFuture(created));
    }

    // ---- all sandboxes of this user

    @Override
    public List<Living> list() {
        Reply reply =
                ask(
                        Request.newBuilder()
                                .setList(dev.caisson.wire.launcher.List.getDefaultInstance()),
                        "The sandboxes cannot be listed");
        return reply.getListed().getLivingList().stream().map(Messages::living).toList();
    }

    @Override
    public Map<String, EngineSandbox.Observation> observeAll() {
        Reply reply =
                ask(
                        Request.newBuilder().setObserveAll(ObserveAll.getDefaultInstance()),
                        "The sandboxes cannot be observed");
        Map<String, EngineSandbox.Observation> all = new LinkedHashMap<>();
        reply.getObservedAll()
                .getSandboxesList()
                .forEach(
                        observed -> all.put(observed.getSandbox(), Messages.observation(observed)));
        return all;
    }

    @Override
    public void renewAll(Collection<String> sandboxes, Duration lease) {
        List<String> all = List.copyOf(sandboxes);
        for (int at = 0; at < all.size(); at += RENEWED_AT_ONCE) {
            List<String> some = all.subList(at, Math.min(all.size(), at + RENEWED_AT_ONCE));
            ask(
                    Request.newBuilder()
                            .setRenewMany(
                                    RenewMany.newBuilder()
                                            .addAllSandboxes(some)
                                            .setLeaseMillis(lease.toMillis())),
                    "The leases were not renewed");
        }
    }

    @Override
    public void setGroup(String group, GroupLimits limits) {
        ask(
                Request.newBuilder().setSetGroup(Messages.group(group, limits)),
                "The limits of the group " + group + " stay as they were");
    }

    // ---- disks

    @Override
    public List<SavedDisk> snapshots() {
        return disks(
                Request.newBuilder().setListSnapshots(ListSnapshots.getDefaultInstance()),
                "The saved disks cannot be listed");
    }

    @Override
    public void dropSnapshot(String snapshot) {
        ask(
                Request.newBuilder()
                        .setDropSnapshot(DropSnapshot.newBuilder().setSnapshot(snapshot)),
                "The saved disk " + snapshot + " was not deleted");
    }

    @Override
    public List<SavedDisk> volumes() {
        return disks(
                Request.newBuilder().setListVolumes(ListVolumes.getDefaultInstance()),
                "The volumes cannot be listed");
    }

    private List<SavedDisk> disks(Request.Builder request, String otherwise) {
        return ask(request, otherwise).getDisks().getDisksList().stream()
                .map(Messages::disk)
                .toList();
    }

    @Override
    public void makeVolume(String volume, ByteSize disk, long inodes) {
        ask(
                Request.newBuilder()
                        .setMakeVolume(
                                MakeVolume.newBuilder()
                                        .setVolume(volume)
                                        .setDiskBytes(disk.bytes())
                                        .setInodes(inodes)),
                "The volume " + volume + " was not made");
    }

    @Override
    public void dropVolume(String volume) {
        ask(
                Request.newBuilder().setDropVolume(DropVolume.newBuilder().setVolume(volume)),
                "The volume " + volume + " was not deleted");
    }

    private Reply ask(Request.Builder request, String otherwise) {
        return LauncherConnection.await(launcher.request(request), otherwise);
    }

    @Override
    public CompletableFuture<CaissonException> onLost() {
        return lost.copy();
    }

    @Override
    public void close() {
        outlet.close();
        launcher.close();
        if (process != null) {
            process.close();
        }
    }
}
