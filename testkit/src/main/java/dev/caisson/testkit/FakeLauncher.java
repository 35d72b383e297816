package dev.caisson.testkit;

import dev.caisson.wire.launcher.Create;
import dev.caisson.wire.launcher.Created;
import dev.caisson.wire.launcher.Destroyed;
import dev.caisson.wire.launcher.Disk;
import dev.caisson.wire.launcher.Disks;
import dev.caisson.wire.launcher.Done;
import dev.caisson.wire.launcher.EndReason;
import dev.caisson.wire.launcher.Ended;
import dev.caisson.wire.launcher.Error;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Limits;
import dev.caisson.wire.launcher.Listed;
import dev.caisson.wire.launcher.Living;
import dev.caisson.wire.launcher.Observed;
import dev.caisson.wire.launcher.ObservedAll;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Role;
import dev.caisson.wire.launcher.SandboxUsage;
import dev.caisson.wire.launcher.Saved;
import dev.caisson.wire.launcher.Welcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A launcher whose sandboxes are {@link FakeAgent}s. */
public final class FakeLauncher implements AutoCloseable {
    private final ServerSocketChannel server;
    private final Path socket;
    private final Map<String, FakeAgent> sandboxes = new ConcurrentHashMap<>();
    private final Set<String> frozen = ConcurrentHashMap.newKeySet();
    private final Set<String> busy = ConcurrentHashMap.newKeySet();
    private final Map<String, Long> snapshots = new ConcurrentHashMap<>();
    private final Map<String, Long> volumes = new ConcurrentHashMap<>();
    private final Map<String, Limits> limits = new ConcurrentHashMap<>();
    private final Map<String, Long> cpu = new ConcurrentHashMap<>();
    private volatile UnaryOperator<Limits> onObserve = told -> told;
    private volatile Function<Request, @Nullable Reply> onRequest = request -> null;
    private volatile Consumer<FakeAgent> onAgent = agent -> {};
    private volatile boolean leasedOnly;
    private volatile String gateway = "";
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private final List<SocketChannel> connections = new CopyOnWriteArrayList<>();
    private volatile Function<Create, @Nullable Reply> onCreate = create -> null;
    private volatile @Nullable SocketChannel control;

    /** A launcher that listens on a socket in that folder. */
    public FakeLauncher(Path folder) {
        try {
            socket = folder.resolve("launcher.sock");
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("fake-launcher").start(this::accept);
    }

    /** Where it listens. */
    public Path socket() {
        return socket;
    }

    /** From now on it has an egress gateway, which listens there. */
    public void gateway(Path control) {
        gateway = control.toString();
    }

    /** Answers creations another way where the function gives a reply. */
    public void onCreate(Function<Create, @Nullable Reply> answer) {
        onCreate = answer;
    }

    /** Answers any request another way where the function gives a reply. */
    public void onRequest(Function<Request, @Nullable Reply> answer) {
        onRequest = answer;
    }

    /** Prepares the agent of each sandbox that is made from now on. */
    public void onAgent(Consumer<FakeAgent> prepare) {
        onAgent = prepare;
    }

    /** Tells other limits of sandboxes than were set. */
    public void onObserve(UnaryOperator<Limits> told) {
        onObserve = told;
    }

    /** Lets a sandbox have used CPU time, in microseconds. */
    public void cpu(String sandbox, long micros) {
        cpu.put(sandbox, micros);
    }

    /** Does it, and breaks the control connection before it is told. */
    public void loseWordOf(Request.BodyCase kind) {
        onRequest =
                request -> {
                    if (request.getBodyCase() == kind) {
                        onRequest = other -> null;
                        answer(request);
                        cutControl();
                    }
                    return null;
                };
    }

    /** Lets sandboxes outlive the control connection, as leased ones do. */
    public void lease() {
        leasedOnly = true;
    }

    /** The sandboxes that live. */
    public Set<String> sandboxes() {
        return Set.copyOf(sandboxes.keySet());
    }

    /** Whether a sandbox is frozen. */
    public boolean frozen(String sandbox) {
        return frozen.contains(sandbox);
    }

    /** The saved disks. */
    public Set<String> snapshots() {
        return Set.copyOf(snapshots.keySet());
    }

    /** Every request that came on a control connection. */
    public List<Request> requests() {
        return List.copyOf(requests);
    }

    /** The agent of a living sandbox. */
    public @Nullable FakeAgent agent(String sandbox) {
        return sandboxes.get(sandbox);
    }

    /** How many sandboxes live. */
    public int living() {
        return sandboxes.size();
    }

    /** Loses a sandbox without a word. */
    public void forget(String sandbox) {
        sandboxes.remove(sandbox);
    }

    /** Ends a sandbox by itself and tells. */
    public void end(String sandbox, EndReason reason) throws IOException {
        sandboxes.remove(sandbox);
        SocketChannel to = control;
        if (to != null) {
            reply(
                    to,
                    Reply.newBuilder()
                            .setEnded(Ended.newBuilder().setSandbox(sandbox).setReason(reason))
                            .build());
        }
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                SocketChannel connection = server.accept();
                connections.add(connection);
                Thread.ofVirtual().name("fake-launcher-connection").start(() -> serve(connection));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(SocketChannel connection) {
        try {
            Request hello = Frames.read(connection, Request.parser());
            if (hello == null) {
                connection.close();
            } else if (hello.getHello().getRole() == Role.ROLE_DATA) {
                data(connection, hello);
            } else {
                control(connection, hello);
            }
        } catch (IOException e) {
            // The client went away.
        }
    }

    private void data(SocketChannel connection, Request hello) throws IOException {
        FakeAgent agent = sandboxes.get(hello.getHello().getSandbox());
        if (agent == null) {
            reply(connection, error(hello.getId(), ErrorKind.ERROR_NOT_FOUND, "no such sandbox"));
            connection.close();
            return;
        }
        reply(
                connection,
                Reply.newBuilder().setId(hello.getId()).setDone(Done.getDefaultInstance()).build());
        agent.serve(connection);
    }

    private void control(SocketChannel connection, Request hello) throws IOException {
        control = connection;
        reply(
                connection,
                Reply.newBuilder()
                        .setId(hello.getId())
                        .setWelcome(
                                Welcome.newBuilder()
                                        .setVersion(1)
                                        .setLauncherVersion("fake")
                                        .setKernel("6.18-fake")
                                        .setGateway(gateway)
                                        .addTemplates("host"))
                        .build());
        for (Request request = Frames.read(connection, Request.parser());
                request != null;
                request = Frames.read(connection, Request.parser())) {
            requests.add(request);
            switch (request.getBodyCase()) {
                case OBSERVE_ALL, LIST, LIST_SNAPSHOTS, LIST_VOLUMES -> list(connection, request);
                default -> reply(connection, answer(request));
            }
        }
        if (!leasedOnly) {
            sandboxes.clear();
        }
    }

    private Reply answer(Request request) {
        Reply instead = onRequest.apply(request);
        if (instead != null) {
            return instead.toBuilder().setId(request.getId()).build();
        }
        Reply.Builder reply = Reply.newBuilder().setId(request.getId());
        return switch (request.getBodyCase()) {
            case CREATE -> {
                Reply other = onCreate.apply(request.getCreate());
                if (other != null) {
                    yield other.toBuilder().setId(request.getId()).build();
                }
                String id = request.getCreate().getSandbox();
                FakeAgent agent = new FakeAgent();
                onAgent.accept(agent);
                limits.put(id, request.getCreate().getLimits());
                sandboxes.put(id, agent);
                yield reply.setCreated(Created.newBuilder().setSandbox(id).setPid(4242)).build();
            }
            case DESTROY -> {
                String id = request.getDestroy().getSandbox();
                FakeAgent gone = sandboxes.remove(id);
                limits.remove(id);
                frozen.remove(id);
                if (gone != null) {
                    gone.cut();
                }
                yield gone == null
                        ? error(request.getId(), ErrorKind.ERROR_NOT_FOUND, "no such sandbox")
                        : reply.setDestroyed(Destroyed.newBuilder().setSandbox(id)).build();
            }
            case OBSERVE -> {
                String id = request.getObserve().getSandbox();
                yield sandboxes.containsKey(id)
                        ? reply.setObserved(observed(id)).build()
                        : error(request.getId(), ErrorKind.ERROR_NOT_FOUND, "no such sandbox");
            }
            case SET_LIMITS -> {
                limits.put(request.getSetLimits().getSandbox(), request.getSetLimits().getLimits());
                yield reply.setDone(Done.getDefaultInstance()).build();
            }
            case FREEZE -> frozen(request.getId(), request.getFreeze().getSandbox(), true);
            case THAW -> frozen(request.getId(), request.getThaw().getSandbox(), false);
            case SAVE -> save(request);
            case DROP_SNAPSHOT ->
                    drop(request.getId(), snapshots, request.getDropSnapshot().getSnapshot());
            case MAKE_VOLUME -> makeVolume(request);
            case DROP_VOLUME -> drop(request.getId(), volumes, request.getDropVolume().getVolume());
            default -> reply.setDone(Done.getDefaultInstance()).build();
        };
    }

    private Observed observed(String id) {
        return Observed.newBuilder()
                .setSandbox(id)
                .setUsage(SandboxUsage.newBuilder().setCpuMicros(cpu.getOrDefault(id, 0L)))
                .setMemoryBytes(4096)
                .setPids(3)
                .setDiskUsedBytes(8192)
                .setInodesUsed(7)
                .setFrozen(frozen.contains(id))
                .setIoBytes(99)
                .setLimits(onObserve.apply(limits.getOrDefault(id, Limits.getDefaultInstance())))
                .build();
    }

    private Reply frozen(long id, String sandbox, boolean freeze) {
        if (!sandboxes.containsKey(sandbox)) {
            return error(id, ErrorKind.ERROR_NOT_FOUND, "no such sandbox");
        }
        if (freeze) {
            frozen.add(sandbox);
        } else {
            frozen.remove(sandbox);
        }
        return Reply.newBuilder().setId(id).setDone(Done.getDefaultInstance()).build();
    }

    private List<Living> listed() {
        return sandboxes.keySet().stream()
                .map(id ->
                        Living.newBuilder()
                                .setSandbox(id)
                                .setGroup("fake")
                                .setLeased(true)
                                .setFrozen(frozen.contains(id))
                                .setLeaseLeftMillis(5000)
                                .build())
                .toList();
    }

    private Reply save(Request request) {
        String id = request.getSave().getSnapshot();
        if (snapshots.putIfAbsent(id, 1L << 20) != null) {
            return error(request.getId(), ErrorKind.ERROR_EXISTS, "saved already");
        }
        return Reply.newBuilder()
                .setId(request.getId())
                .setSaved(Saved.newBuilder().setSnapshot(id).setBytes(12_345).setHeldMicros(678))
                .build();
    }

    private Reply makeVolume(Request request) {
        String id = request.getMakeVolume().getVolume();
        return volumes.putIfAbsent(id, request.getMakeVolume().getDiskBytes()) != null
                ? error(request.getId(), ErrorKind.ERROR_EXISTS, "made already")
                : Reply.newBuilder()
                        .setId(request.getId())
                        .setDone(Done.getDefaultInstance())
                        .build();
    }

    private Reply drop(long id, Map<String, Long> disks, String disk) {
        if (busy.contains(disk)) {
            return error(id, ErrorKind.ERROR_BUSY, "a sandbox has it");
        }
        return disks.remove(disk) == null
                ? error(id, ErrorKind.ERROR_NOT_FOUND, "no such disk")
                : Reply.newBuilder().setId(id).setDone(Done.getDefaultInstance()).build();
    }

    private static List<Disk> disks(Map<String, Long> all) {
        return all.entrySet().stream()
                .map(disk ->
                        Disk.newBuilder()
                                .setId(disk.getKey())
                                .setDiskBytes(disk.getValue())
                                .setAllocatedBytes(4096)
                                .build())
                .toList();
    }

    /** Makes a disk one that a sandbox has. */
    public void hold(String disk) {
        busy.add(disk);
    }

    /** Breaks the control connection; the sandboxes live on. */
    public void cutControl() {
        SocketChannel to = control;
        leasedOnly = true;
        try {
            if (to != null) {
                to.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lists come in parts, here of two. */
    private static void inParts(
            SocketChannel connection,
            long id,
            int count,
            BiFunction<Integer, Integer, Reply.Builder> part)
            throws IOException {
        for (int at = 0; at == 0 || at < count; at += 2) {
            reply(connection, part.apply(at, Math.min(count, at + 2)).setId(id).build());
        }
    }

    private void list(SocketChannel connection, Request request) throws IOException {
        long id = request.getId();
        switch (request.getBodyCase()) {
            case OBSERVE_ALL -> {
                List<Observed> all = sandboxes.keySet().stream().map(this::observed).toList();
                inParts(
                        connection,
                        id,
                        all.size(),
                        (from, to) ->
                                Reply.newBuilder()
                                        .setObservedAll(
                                                ObservedAll.newBuilder()
                                                        .addAllSandboxes(all.subList(from, to))
                                                        .setLast(to == all.size())));
            }
            case LIST -> {
                List<Living> all = listed();
                inParts(
                        connection,
                        id,
                        all.size(),
                        (from, to) ->
                                Reply.newBuilder()
                                        .setListed(
                                                Listed.newBuilder()
                                                        .addAllLiving(all.subList(from, to))
                                                        .setMore(to < all.size())));
            }
            default -> {
                List<Disk> all = disks(request.hasListVolumes() ? volumes : snapshots);
                inParts(
                        connection,
                        id,
                        all.size(),
                        (from, to) ->
                                Reply.newBuilder()
                                        .setDisks(
                                                Disks.newBuilder()
                                                        .addAllDisks(all.subList(from, to))
                                                        .setMore(to < all.size())));
            }
        }
    }

    /** An error as a reply. */
    public static Reply error(long id, ErrorKind kind, String message) {
        return Reply.newBuilder()
                .setId(id)
                .setError(
                        Error.newBuilder()
                                .setKind(kind)
                                .setMessage(message)
                                .setRemedy("do something about it"))
                .build();
    }

    private static void reply(SocketChannel connection, Reply reply) throws IOException {
        Frames.write(connection, Frames.encode(reply));
    }

    @Override
    public void close() {
        try {
            server.close();
            for (SocketChannel connection : connections) {
                connection.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
