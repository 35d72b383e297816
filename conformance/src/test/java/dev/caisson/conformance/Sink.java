package dev.caisson.conformance;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** A server of the host that keeps what comes, and sends each piece back. */
final class Sink implements AutoCloseable {
    private static final int MAX_KEPT = 1 << 16;

    private final ServerSocket server;
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    private final List<ByteArrayOutputStream> kept = new CopyOnWriteArrayList<>();

    /** On every address of the host. */
    Sink() {
        try {
            server = new ServerSocket(0, 1024);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("sink").start(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    /** How many connections came so far. */
    int connections() {
        return connections.get();
    }

    /** How many bytes came so far. */
    long bytes() {
        return bytes.get();
    }

    /** The beginnings of what came, one connection after the other. */
    String text() {
        StringBuilder all = new StringBuilder();
        for (ByteArrayOutputStream one : kept) {
            synchronized (one) {
                all.append(one.toString(StandardCharsets.ISO_8859_1)).append('\n');
            }
        }
        return all.toString();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                connections.incrementAndGet();
                Thread.ofVirtual().name("sink").start(() -> serve(socket));
            }
        } catch (IOException e) {
            // It was closed.
        }
    }

    private void serve(Socket socket) {
        ByteArrayOutputStream own = new ByteArrayOutputStream();
        kept.add(own);
        try (socket) {
            byte[] buffer = new byte[1 << 16];
            for (int n = socket.getInputStream().read(buffer);
                    n > 0;
                    n = socket.getInputStream().read(buffer)) {
                bytes.addAndGet(n);
                synchronized (own) {
                    own.write(buffer, 0, Math.min(n, Math.max(0, MAX_KEPT - own.size())));
                }
                socket.getOutputStream().write(buffer, 0, n);
            }
        } catch (IOException e) {
            // The other side reset it.
        }
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
