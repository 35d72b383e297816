package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.control.Caller;
import dev.caisson.control.PortService;
import dev.caisson.control.PortVisitor;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Ports that are ports of this machine, on loopback; the token and the link are {@code good}. */
final class FakePorts implements PortService {
    final AtomicInteger open = new AtomicInteger();
    final AtomicInteger dialled = new AtomicInteger();

    @Override
    public PortJson open(Caller caller, String sandbox, PortRequest request) {
        return new PortJson(request.port(), "token", "http://x", "secret-token");
    }

    @Override
    public List<PortJson> list(Caller caller, String sandbox) {
        return List.of(new PortJson(80, "token", "http://x", null));
    }

    @Override
    public void close(Caller caller, String sandbox, int port) {}

    @Override
    public Tunnel dial(Caller caller, String sandbox, int port) {
        dialled.incrementAndGet();
        try {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            open.incrementAndGet();
            return new SocketTunnel(socket, open);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "Nothing listens there.");
        }
    }

    @Override
    public PortLinkJson link(Caller caller, String sandbox, int port, PortLinkRequest request) {
        return new PortLinkJson("http://x" + LINKS + "good", Instant.EPOCH, Instant.EPOCH);
    }

    @Override
    public Entry enter(String sandbox, int port, String link) {
        if (!link.equals("good")) {
            throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "The link is not good.");
        }
        return new Entry("pass-" + sandbox, Duration.ofMinutes(5), "/app?x=1");
    }

    @Override
    public Tunnel dialPublic(
            String sandbox, int port, PortVisitor visitor, Consumer<String> admission) {
        if (sandbox.equals("sbnone00000000000000ab")) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no such port.");
        }
        if (!"good".equals(visitor.token()) && !visitor.passes().contains("pass-" + sandbox)) {
            throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "The token is not good.");
        }
        admission.accept(sandbox.startsWith("sbb") ? "beta" : "alpha");
        return dial(FakeControl.caller("alpha", dev.caisson.control.Role.ADMIN), sandbox, port);
    }

    /** A socket as a tunnel. */
    private record SocketTunnel(Socket socket, AtomicInteger open) implements Tunnel {
        @Override
        public InputStream input() {
            try {
                return socket.getInputStream();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public OutputStream output() {
            try {
                return socket.getOutputStream();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            try {
                if (!socket.isClosed()) {
                    open.decrementAndGet();
                }
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
