package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A sink on loopback: keeps what arrives, greets if it shall, sends back what it gets. */
final class EchoServer implements AutoCloseable {
    final List<ByteArrayOutputStream> arrived = new CopyOnWriteArrayList<>();
    final AtomicInteger connections = new AtomicInteger();
    private final ServerSocket server;
    private final String greeting;

    EchoServer(String greeting) throws IOException {
        this.greeting = greeting;
        server = new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1"));
        Thread.ofVirtual().name("echo").start(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                connections.incrementAndGet();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        ByteArrayOutputStream kept = new ByteArrayOutputStream();
        arrived.add(kept);
        try (socket) {
            socket.getOutputStream()
                    .write(greeting.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            byte[] buffer = new byte[1 << 16];
            int read;
            while ((read = socket.getInputStream().read(buffer)) > 0) {
                if (kept.size() < 1 << 20) {
                    kept.write(buffer, 0, read);
                }
                socket.getOutputStream().write(buffer, 0, read);
            }
        } catch (IOException e) {
            // gone
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
