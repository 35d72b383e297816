package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Base64;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The operator's HTTP proxy, through which all connections go (CONNECT). It resolves names itself,
 * so their addresses are not checked here: that is left to it.
 */
final class UpstreamProxy {
    private static final int TIMEOUT_MILLIS = 10_000;
    private static final int DEFAULT_PORT = 3128;
    private static final int MAX_ANSWER = 8 << 10;
    private static final int MAX_FILE = 4 << 10;

    private final String host;
    private final int port;
    private final @Nullable String authorization;

    private UpstreamProxy(String host, int port, @Nullable String authorization) {
        this.host = host;
        this.port = port;
        this.authorization = authorization;
    }

    /**
     * Reads {@code http://USER:PASSWORD@HOST:PORT} from a file that nobody else may read.
     *
     * @throws IOException when it is anything else; the message holds nothing of it
     */
    static UpstreamProxy read(Path file) throws IOException {
        Set<PosixFilePermission> wide = EnumSet.copyOf(Files.getPosixFilePermissions(file));
        wide.removeAll(Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
        if (!wide.isEmpty()) {
            throw new IOException(file + " must have the mode 0600: it may hold a password.");
        }
        if (Files.size(file) > MAX_FILE) {
            throw new IOException(file + " is too long for the address of a proxy.");
        }
        return parse(Files.readString(file).trim());
    }

    static UpstreamProxy parse(String address) throws IOException {
        try {
            URI uri = new URI(address);
            if (!"http".equals(uri.getScheme()) || uri.getHost() == null) {
                throw new IOException("The address of the proxy must be http://HOST:PORT.");
            }
            int port = uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort();
            String user = uri.getUserInfo();
            return new UpstreamProxy(uri.getHost(), port, user == null ? null : basic(user));
        } catch (URISyntaxException e) {
            // Not as a cause: its message has the whole address.
            throw new IOException("The address of the proxy must be http://HOST:PORT.");
        }
    }

    private static String basic(String user) {
        byte[] bytes = user.getBytes(StandardCharsets.UTF_8);
        return "Basic " + Base64.getEncoder().encodeToString(bytes);
    }

    /** A tunnel through it. */
    Duplex connect(Destination to) throws IOException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(host), port);
        SocketDuplex duplex = SocketDuplex.connect(address, TIMEOUT_MILLIS);
        Thread watch = Deadline.close(duplex, TIMEOUT_MILLIS);
        try {
            duplex.write(ByteBuffer.wrap(request(to).getBytes(StandardCharsets.US_ASCII)));
            String status = answer(duplex);
            if (!status.matches("HTTP/1\\.[01] 2\\d\\d( .*)?")) {
                throw new IOException("The upstream proxy refuses " + to);
            }
            return duplex;
        } catch (IOException e) {
            duplex.close();
            throw e;
        } finally {
            watch.interrupt();
        }
    }

    private String request(Destination to) {
        String target =
                switch (to) {
                    case Destination.Named named -> named.toString();
                    case Destination.Literal literal -> {
                        String text = literal.address().toString();
                        yield (text.contains(":") ? "[" + text + "]" : text) + ":" + literal.port();
                    }
                };
        String credentials =
                authorization == null ? "" : "Proxy-Authorization: " + authorization + "\r\n";
        return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + credentials + "\r\n";
    }

    /** The first line of the answer; reads up to its empty line and not a byte further. */
    private static String answer(Duplex duplex) throws IOException {
        StringBuilder head = new StringBuilder();
        ByteBuffer one = ByteBuffer.allocate(1);
        while (head.indexOf("\r\n\r\n", Math.max(0, head.length() - 4)) < 0) {
            if (head.length() > MAX_ANSWER || duplex.read(one.clear()) < 0) {
                throw new IOException("The upstream proxy gives no answer");
            }
            head.append((char) (one.get(0) & 0xFF));
        }
        return head.substring(0, head.indexOf("\r\n"));
    }
}
