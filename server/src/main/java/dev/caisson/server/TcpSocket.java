package dev.caisson.server;

import dev.caisson.api.Tunnel;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** A TCP connection into a sandbox as a WebSocket of binary frames. */
final class TcpSocket extends Socket {
    private static final int PART = 64 << 10;

    private final Supplier<Tunnel> dial;
    private final CompletableFuture<Tunnel> tunnel = new CompletableFuture<>();

    TcpSocket(Supplier<Tunnel> dial, Setup setup) {
        super(setup);
        this.dial = dial;
    }

    @Override
    void outbound() throws IOException, InterruptedException {
        Tunnel dialled;
        try {
            dialled = dial.get();
        } catch (RuntimeException e) {
            tunnel.completeExceptionally(e);
            throw e;
        }
        try (dialled) {
            if (!tunnel.complete(dialled)) {
                return;
            }
            InputStream input = dialled.input();
            byte[] part = new byte[PART];
            for (int read; (read = input.read(part)) >= 0; ) {
                send(part, read);
            }
        }
    }

    @Override
    void inbound(Frame frame) throws IOException {
        byte[] bytes = frame.bytes;
        if (bytes == null) {
            throw new IOException("Only binary frames are TCP.");
        }
        try {
            Tunnel dialled = tunnel.get();
            if (bytes.length == 0) {
                dialled.output().close(); // end of file, while the other direction goes on
                return;
            }
            dialled.output().write(bytes);
            dialled.output().flush();
        } catch (ExecutionException e) {
            throw new IOException("The port cannot be reached.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    void release() {
        tunnel.completeExceptionally(new IOException("The socket is closed."));
        if (!tunnel.isCompletedExceptionally()) {
            tunnel.join().close();
        }
    }
}
