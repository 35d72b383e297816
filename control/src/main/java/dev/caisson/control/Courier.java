package dev.caisson.control;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.SocketFactory;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Posts to addresses that tenants choose. Its own small HTTP/1.1, because the JDK's client looks a
 * name up by itself: here the address that was checked is the one that is connected to. No
 * redirects, no proxy, no cookies, no connection is used twice; of the answer only the status is
 * read. Thread-safe.
 */
final class Courier {
    private static final Pattern STATUS =
            Pattern.compile("HTTP/1\\.[01] ([1-5][0-9][0-9])(?: .*)?");
    private static final int MAX_ANSWER = 16 << 10;
    private static final int TLS_PORT = 443;
    private static final int PLAIN_PORT = 80;

    private final boolean privateAddresses;
    private final Duration timeout;
    private final Supplier<SSLSocketFactory> tls;

    /** One that asks for {@code tls} when it needs it: it takes a tenth of a second to be made. */
    Courier(boolean privateAddresses, Duration timeout, Supplier<SSLSocketFactory> tls) {
        this.privateAddresses = privateAddresses;
        this.timeout = timeout;
        this.tls = tls;
    }

    /**
     * Posts a body.
     *
     * @return the status of the answer
     */
    int post(URI url, Map<String, String> headers, byte[] body) throws IOException {
        boolean secure = "https".equals(url.getScheme().toLowerCase(Locale.ROOT));
        int port = url.getPort() < 0 ? (secure ? TLS_PORT : PLAIN_PORT) : url.getPort();
        InetAddress address = Reach.resolve(url.getHost(), privateAddresses);
        AtomicBoolean late = new AtomicBoolean();
        try (Socket socket = SocketFactory.getDefault().createSocket()) {
            Thread guard =
                    Thread.ofVirtual().name("webhook-timeout").start(() -> end(socket, late));
            try {
                socket.connect(new InetSocketAddress(address, port), (int) timeout.toMillis());
                Socket talk = secure ? secure(socket, url.getHost(), port) : socket;
                talk.getOutputStream().write(head(url, headers, body.length));
                talk.getOutputStream().write(body);
                talk.getOutputStream().flush();
                return status(talk.getInputStream());
            } catch (IOException e) {
                throw late.get() ? new SocketTimeoutException("no answer in time") : e;
            } finally {
                guard.interrupt();
            }
        }
    }

    /** A peer that reads or answers slowly gets no more than its time. */
    private void end(Socket socket, AtomicBoolean late) {
        try {
            Thread.sleep(timeout);
            late.set(true);
            socket.close();
        } catch (InterruptedException | IOException e) {
            // It was in time, or is closed.
        }
    }

    private Socket secure(Socket socket, String host, int port) throws IOException {
        String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        SSLSocket talk = (SSLSocket) tls.get().createSocket(socket, name, port, true);
        SSLParameters parameters = talk.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        talk.setSSLParameters(parameters);
        talk.startHandshake();
        return talk;
    }

    private static byte[] head(URI url, Map<String, String> headers, int length) {
        String path = url.getRawPath();
        StringBuilder head = new StringBuilder(256);
        head.append("POST ").append(path == null || path.isEmpty() ? "/" : path);
        if (url.getRawQuery() != null) {
            head.append('?').append(url.getRawQuery());
        }
        head.append(" HTTP/1.1\r\nHost: ").append(url.getHost());
        if (url.getPort() >= 0) {
            head.append(':').append(url.getPort());
        }
        head.append("\r\nConnection: close\r\nContent-Length: ").append(length).append("\r\n");
        headers.forEach(
                (name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
        return head.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static int status(InputStream in) throws IOException {
        int[] left = {MAX_ANSWER};
        while (true) {
            Matcher matcher = STATUS.matcher(line(in, left));
            if (!matcher.matches()) {
                throw new IOException("the answer is not HTTP");
            }
            int status = Integer.parseInt(matcher.group(1));
            if (status >= 200) {
                return status;
            }
            // Something for in between (RFC 9110, 15.2): the answer follows its header.
            while (!line(in, left).isEmpty()) {}
        }
    }

    private static String line(InputStream in, int[] left) throws IOException {
        StringBuilder line = new StringBuilder();
        while (left[0]-- > 0) {
            int c = in.read();
            if (c < 0) {
                throw new IOException("the connection was closed before an answer");
            }
            if (c == '\n') {
                int end = line.length() - 1;
                return end >= 0 && line.charAt(end) == '\r'
                        ? line.substring(0, end)
                        : line.toString();
            }
            line.append((char) c);
        }
        throw new IOException("the answer is too long");
    }
}
