package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import dev.caisson.policy.Scheme;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** Lets programs of tests reach an intercept over TCP, directly or by CONNECT. */
final class Front implements java.io.Closeable {
    static final Destination.Named TO = new Destination.Named(HostName.of("api.example.org"), 443);
    static final Destination.Named TO_PLAIN =
            new Destination.Named(HostName.of("api.example.org"), 80);

    final FakeSession session;
    private final ServerSocketChannel listener;
    private final Intercept intercept;
    private final boolean connect;
    private final Scheme scheme;

    Front(FakeSession session, Intercept intercept, Scheme scheme, boolean connect)
            throws IOException {
        this.session = session;
        this.intercept = intercept;
        this.scheme = scheme;
        this.connect = connect;
        this.listener =
                ServerSocketChannel.open()
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.socket().getLocalPort();
    }

    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port());
    }

    /** A connection of a program inside, with TLS where it is spoken. */
    Socket open() throws IOException {
        Socket plain = new Socket(InetAddress.getLoopbackAddress(), port());
        plain.setTcpNoDelay(true);
        plain.setSoTimeout(20_000);
        return scheme == Scheme.HTTPS ? secure(plain, TO.host().value()) : plain;
    }

    SSLSocket secure(Socket plain, String name) throws IOException {
        SSLSocket socket =
                (SSLSocket)
                        TestCa.client(session.authority.certificates())
                                .getSocketFactory()
                                .createSocket(plain, name, 443, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setServerNames(List.of(new SNIHostName(name)));
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }

    /** Sends bytes on a connection of their own and reads all that comes back. */
    String raw(String bytes) throws IOException {
        try (Socket socket = open()) {
            socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            try {
                return new String(
                        socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
            } catch (java.net.SocketException | javax.net.ssl.SSLException e) {
                return "";
            }
        }
    }

    /** A request that closes behind its answer. */
    String get(String path, String... headers) throws IOException {
        StringBuilder text = new StringBuilder("GET " + path + " HTTP/1.1\r\nHost: ");
        text.append(TO.host()).append("\r\n");
        for (String header : headers) {
            text.append(header).append("\r\n");
        }
        return raw(text.append("Connection: close\r\n\r\n").toString());
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private void accept() {
        while (listener.isOpen()) {
            try {
                SocketChannel channel = listener.accept();
                Thread.ofVirtual().start(() -> serve(channel));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(SocketChannel channel) {
        try (channel) {
            if (connect) {
                ByteBuffer one = ByteBuffer.allocate(1);
                StringBuilder head = new StringBuilder();
                while (head.indexOf("\r\n\r\n") < 0 && channel.read(one.clear()) > 0) {
                    head.append((char) one.get(0));
                }
                channel.write(
                        ByteBuffer.wrap(
                                "HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
            }
            intercept.serve(
                    session,
                    new SocketPipe(channel),
                    scheme == Scheme.HTTPS ? TO : TO_PLAIN,
                    scheme);
        } catch (IOException e) {
            // What the program sees is what counts.
        }
    }
}
