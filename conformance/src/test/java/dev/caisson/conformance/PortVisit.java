package dev.caisson.conformance;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * A connection to a port of a sandbox, by hand: the name in its URL is resolved by nobody here, and
 * what comes is seen byte for byte. Reading gives up after a while.
 */
final class PortVisit implements AutoCloseable {
    private static final int PATIENCE_MILLIS = 15_000;

    private final Socket socket;
    private final InputStream in;
    private final String authority;

    PortVisit(URI url) throws IOException {
        this(url, new Socket(InetAddress.getLoopbackAddress(), url.getPort()));
    }

    private PortVisit(URI url, Socket socket) throws IOException {
        this.socket = socket;
        socket.setSoTimeout(PATIENCE_MILLIS);
        in = socket.getInputStream();
        authority = url.getAuthority();
    }

    /** Over TLS; the certificate must be good for the name in the URL. */
    static PortVisit secure(URI url, SSLContext trusting) throws IOException {
        Socket plain = new Socket(InetAddress.getLoopbackAddress(), url.getPort());
        plain.setSoTimeout(PATIENCE_MILLIS);
        SSLSocket socket =
                (SSLSocket)
                        trusting.getSocketFactory()
                                .createSocket(plain, url.getHost(), url.getPort(), true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        try {
            socket.startHandshake();
        } catch (IOException e) {
            socket.close();
            throw e;
        }
        return new PortVisit(url, socket);
    }

    /** An open WebSocket. */
    static PortVisit webSocket(URI url, Map<String, String> headers) throws IOException {
        return new PortVisit(url).webSocket(headers);
    }

    /** Makes it a WebSocket. */
    PortVisit webSocket(Map<String, String> headers) throws IOException {
        String head = upgrade(headers);
        // The accept value of RFC 6455, section 1.3, for its key.
        if (!head.startsWith("HTTP/1.1 101") || !head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")) {
            close();
            throw new AssertionError("no WebSocket: " + head);
        }
        return this;
    }

    /** Asks for a WebSocket; the head of the answer. */
    String upgrade(Map<String, String> headers) throws IOException {
        send("GET /ws", headers, "");
        return head();
    }

    /** Sends a request whose head ends with those headers; {@code line} lacks the version. */
    void send(String line, Map<String, String> headers, String body) throws IOException {
        StringBuilder request =
                new StringBuilder(line).append(" HTTP/1.1\r\nHost: ").append(authority);
        if (line.endsWith("/ws")) {
            request.append("\r\nConnection: Upgrade\r\nUpgrade: websocket")
                    .append("\r\nSec-WebSocket-Version: 13")
                    .append("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==");
        }
        headers.forEach(
                (name, value) -> request.append("\r\n").append(name).append(": ").append(value));
        if (!body.isEmpty()) {
            request.append("\r\nContent-Length: ").append(body.length());
        }
        request.append("\r\n\r\n").append(body);
        socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
    }

    /** The head of an answer. */
    String head() throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
            int one = in.read();
            if (one < 0) {
                throw new IOException("ended in: " + head);
            }
            head.write(one);
        }
        return head.toString(StandardCharsets.ISO_8859_1);
    }

    /** An answer whose length is told. */
    String answer() throws IOException {
        String head = head();
        String length = "Content-Length: ";
        int at = head.indexOf(length);
        if (at < 0) {
            throw new IOException("no length: " + head);
        }
        int end = head.indexOf("\r\n", at);
        return head + text(Integer.parseInt(head.substring(at + length.length(), end)));
    }

    /** That many bytes. */
    String text(int bytes) throws IOException {
        return new String(in.readNBytes(bytes), StandardCharsets.ISO_8859_1);
    }

    /** Sends a short text over a WebSocket; a mask of zeros leaves it as it is. */
    void say(String text) throws IOException {
        ByteArrayOutputStream frame = new ByteArrayOutputStream();
        frame.write(0x81);
        frame.write(0x80 | text.length());
        frame.writeBytes(new byte[4]);
        frame.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().write(frame.toByteArray());
    }

    /** The next short text of a WebSocket. */
    String hear() throws IOException {
        if (in.read() != 0x81) {
            throw new IOException("no text");
        }
        return text(in.read());
    }

    /** What still comes until the connection ends; fails when it does not. */
    String rest() throws IOException {
        ByteArrayOutputStream rest = new ByteArrayOutputStream();
        try {
            in.transferTo(rest);
        } catch (SocketException e) {
            // Reset: an end as good as any.
        }
        return rest.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
