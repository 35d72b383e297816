package dev.caisson.egress;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The operator's proxy: leads every CONNECT to one port of the loopback and keeps its head. */
final class FakeUpstream implements AutoCloseable {
    final List<String> heads = new CopyOnWriteArrayList<>();
    volatile String answer = "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n";
    private final ServerSocket server;
    private final int target;

    FakeUpstream(int target) throws IOException {
        this.target = target;
        server = new ServerSocket(0, 64, InetAddress.ofLiteral("127.0.0.1"));
        Thread.ofVirtual().start(this::accept);
    }

    UpstreamProxy proxy() throws IOException {
        return UpstreamProxy.parse("http://user:pw@127.0.0.1:" + server.getLocalPort());
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        try (socket;
                Socket out = new Socket(InetAddress.ofLiteral("127.0.0.1"), target)) {
            StringBuilder head = new StringBuilder();
            InputStream in = socket.getInputStream();
            while (head.indexOf("\r\n\r\n") < 0) {
                head.append((char) in.read());
            }
            heads.add(head.toString());
            socket.getOutputStream()
                    .write(answer.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            Thread.ofVirtual().start(() -> copy(out, socket));
            copy(socket, out);
        } catch (IOException e) {
            // gone
        }
    }

    private static void copy(Socket from, Socket to) {
        try {
            from.getInputStream().transferTo(to.getOutputStream());
            to.shutdownOutput();
        } catch (IOException e) {
            // gone
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
