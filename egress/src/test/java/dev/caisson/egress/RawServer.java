package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ServerSocketFactory;
import javax.net.ssl.SSLContext;

/** A server of bytes: what it is told to answer, it answers; what arrives, it keeps. */
final class RawServer implements java.io.Closeable {
    final List<String> heads = new CopyOnWriteArrayList<>();
    final AtomicInteger connections = new AtomicInteger();
    private final ServerSocket socket;

    /** Serves a request whose head was read. */
    interface Handler {
        /** Whether the connection goes on. */
        boolean serve(String head, InputStream in, OutputStream out) throws IOException;
    }

    RawServer(SSLContext tls, Handler handler) throws IOException {
        this(tls.getServerSocketFactory(), handler);
    }

    RawServer(ServerSocketFactory factory, Handler handler) throws IOException {
        socket = factory.createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(() -> accept(handler));
    }

    /** Answers each request with a text. */
    static Handler text(String answer) {
        return (head, in, out) -> {
            out.write(
                    ("HTTP/1.1 200 OK\r\nContent-Length: " + answer.length() + "\r\n\r\n" + answer)
                            .getBytes(StandardCharsets.UTF_8));
            return true;
        };
    }

    int port() {
        return socket.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /** Bytes up to an empty line, or the end. */
    static String head(InputStream in) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
            int b = in.read();
            if (b < 0) {
                break;
            }
            head.write(b);
        }
        return head.toString(StandardCharsets.ISO_8859_1);
    }

    private void accept(Handler handler) {
        while (!socket.isClosed()) {
            try {
                Socket connection = socket.accept();
                connection.setTcpNoDelay(true);
                connections.incrementAndGet();
                Thread.ofVirtual().start(() -> serve(connection, handler));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Socket connection, Handler handler) {
        try (connection) {
            InputStream in = new java.io.BufferedInputStream(connection.getInputStream());
            boolean more = true;
            while (more) {
                String head = head(in);
                if (head.isEmpty()) {
                    return;
                }
                heads.add(head);
                more = handler.serve(head, in, connection.getOutputStream());
                connection.getOutputStream().flush();
            }
        } catch (IOException e) {
            // The client has gone; tests look at what it got.
        }
    }
}
