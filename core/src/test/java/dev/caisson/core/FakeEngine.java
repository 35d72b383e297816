package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import dev.caisson.api.Usage;
import dev.caisson.testkit.FakeAgent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An engine whose sandboxes all have one fake agent, or whatever serves their connections. */
final class FakeEngine implements Engine {
    final FakeAgent agent = new FakeAgent();
    private final AtomicInteger made = new AtomicInteger();
    private final List<Path> sockets = new CopyOnWriteArrayList<>();
    private final List<ServerSocketChannel> servers = new CopyOnWriteArrayList<>();
    private final Path folder;
    private volatile @Nullable Consumer<SocketChannel> service;
    volatile List<String> degraded = List.of();
    volatile boolean frozen;

    FakeEngine() {
        try {
            folder = Files.createTempDirectory("caisson-test");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void service(Consumer<SocketChannel> other) {
        service = other;
    }

    /** A handle of a sandbox that was made before. */
    private FakeSandbox again(String id) {
        if (!sockets.contains(folder.resolve(id))) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no sandbox " + id + ".");
        }
        return new FakeSandbox(id, UnixDomainSocketAddress.of(folder.resolve(id)));
    }

    /** The first sandbox has {@link #agent}, later ones have agents with its programs and files. */
    private FakeSandbox open(String id) {
        FakeAgent own = made.getAndIncrement() == 0 ? agent : new FakeAgent(agent);
        Path socket = folder.resolve(id);
        try {
            ServerSocketChannel server =
                    ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                            .bind(UnixDomainSocketAddress.of(socket));
            sockets.add(socket);
            servers.add(server);
            Thread.ofVirtual().start(() -> accept(server, own));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new FakeSandbox(id, UnixDomainSocketAddress.of(socket));
    }

    private void accept(ServerSocketChannel server, FakeAgent own) {
        while (true) {
            try {
                SocketChannel connection = server.accept();
                Consumer<SocketChannel> other = service;
                Thread.ofVirtual()
                        .start(() -> {
                            if (other == null) {
                                own.serve(connection);
                            } else {
                                other.accept(connection);
                            }
                        });
            } catch (IOException e) {
                return;
            }
        }
    }

    @Override
    public String name() {
        return "fake";
    }

    @Override
    public Tier tier() {
        return Tier.CONTAINER;
    }

    @Override
    public Capabilities capabilities() {
        return new Capabilities(true, false, false, false);
    }

    @Override
    public HostFacts host() {
        return new HostFacts("6.18", List.of("host"), List.of());
    }

    @Override
    public String reserve(String group) {
        return Ids.next(Ids.Kind.SANDBOX);
    }

    @Override
    public EngineSandbox create(EngineRequest request) {
        return open(request.sandbox());
    }

    @Override
    public EngineSandbox attach(String sandbox) {
        return again(sandbox);
    }

    @Override
    public void close() {
        try {
            for (ServerSocketChannel server : servers) {
                server.close();
            }
            for (Path socket : sockets) {
                Files.deleteIfExists(socket);
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    final class FakeSandbox implements EngineSandbox {
        private final String id;
        private final UnixDomainSocketAddress address;
        private final CompletableFuture<Ended> end = new CompletableFuture<>();

        FakeSandbox(String id, UnixDomainSocketAddress address) {
            this.id = id;
            this.address = address;
        }

        @Override
        public void freeze() {
            frozen = true;
        }

        @Override
        public void thaw() {
            frozen = false;
        }

        void end(EndReason reason) {
            end.complete(new Ended(reason, "", Usage.NONE));
        }

        @Override
        public String id() {
            return id;
        }

        @Override
        public Ready awaitCreated() {
            return new Ready(degraded, Duration.ofMillis(3));
        }

        @Override
        public DataLink connect(long minEpoch) throws IOException {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            channel.connect(address);
            return new DataLink(channel, null);
        }

        @Override
        public Usage usage() {
            return Usage.NONE;
        }

        @Override
        public Ended destroy() {
            end(EndReason.DELETED);
            return end.join();
        }

        @Override
        public CompletableFuture<Ended> onEnd() {
            return end;
        }
    }
}
