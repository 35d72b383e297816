package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HostName;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * Registries of all ecosystems on one host, their files on another, and a sandbox whose programs
 * reach both through a proxy's door and the gate.
 */
final class FakeRegistry implements AutoCloseable {
    static final String HOST = "registry.example.org";
    static final String FILES = "files.example.net";
    static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");

    final TestCa ca = new TestCa();
    final OutsideTls tls;
    final FakeSession session;
    final Map<String, Page> pages = new ConcurrentHashMap<>();
    final RawServer server;
    private final Http2Peers http2 = new Http2Peers();
    private final Intercept intercept;
    private final ServerSocketChannel door;

    /** An answer. */
    static final class Page {
        private final int status;
        private final byte[] body;
        private final List<String> headers;

        Page(int status, byte[] body, String... headers) {
            this.status = status;
            this.body = body;
            this.headers = List.of(headers);
        }
    }

    FakeRegistry() throws IOException {
        tls = OutsideTls.trusting(List.of(ca.certificate()));
        session = new FakeSession(tls);
        server = new RawServer(ca.server(HOST, FILES), this::serve);
        session.port = server.port();
        PackageGate gate = new PackageGate(Clock.fixed(NOW, ZoneOffset.UTC));
        intercept = new HttpIntercept(tls, http2, List.of(gate));
        door =
                ServerSocketChannel.open()
                        .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofVirtual().start(this::accept);
    }

    int proxyPort() {
        return door.socket().getLocalPort();
    }

    /** Puts rules of an ecosystem, several for several documents, into force. */
    void rules(String ecosystem, PackageRule... rules) {
        session.policy =
                EgressPolicy.of(
                        List.of(rules).stream()
                                .map(rule ->
                                        new EgressJson(
                                                null,
                                                null,
                                                List.of(),
                                                List.of(),
                                                null,
                                                List.of(),
                                                Map.of(ecosystem, rule)))
                                .toList());
    }

    static PackageRule rule(String path, List<String> allow, List<String> deny) {
        return rule(path, allow, deny, null, Map.of());
    }

    static PackageRule rule(
            String path,
            List<String> allow,
            List<String> deny,
            @Nullable Long minAgeMillis,
            Map<String, String> hashes) {
        return new PackageRule("https://" + HOST + path, allow, deny, minAgeMillis, hashes);
    }

    void page(String url, String type, String body) {
        page(url, body.getBytes(StandardCharsets.UTF_8), "Content-Type: " + type);
    }

    void page(String url, byte[] body, String... headers) {
        pages.put(url, new Page(200, body, headers));
    }

    static String hash(String algorithm, byte[] bytes) {
        try {
            return HexFormat.of()
                    .formatHex(java.security.MessageDigest.getInstance(algorithm).digest(bytes));
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean serve(String head, java.io.InputStream in, OutputStream out)
            throws IOException {
        String path = head.split(" ", 3)[1];
        String host = "";
        for (String line : head.split("\r\n", -1)) {
            if (line.toLowerCase(Locale.ROOT).startsWith("host: ")) {
                host = line.substring(6);
            }
        }
        Page page =
                pages.getOrDefault(
                        host + path, new Page(404, new byte[0], "Content-Type: text/plain"));
        StringBuilder text = new StringBuilder("HTTP/1.1 " + page.status + " X\r\n");
        for (String header : page.headers) {
            text.append(header).append("\r\n");
        }
        text.append("Content-Length: ").append(page.body.length).append("\r\n\r\n");
        out.write(text.toString().getBytes(StandardCharsets.ISO_8859_1));
        if (!head.startsWith("HEAD ")) {
            out.write(page.body);
        }
        return true;
    }

    // ---- the way of a program inside

    private void accept() {
        while (door.isOpen()) {
            try {
                SocketChannel channel = door.accept();
                Thread.ofVirtual().start(() -> connect(channel));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void connect(SocketChannel channel) {
        try (channel) {
            ByteBuffer one = ByteBuffer.allocate(1);
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0 && channel.read(one.clear()) > 0) {
                head.append((char) one.get(0));
            }
            String authority = head.toString().split(" ", 3)[1];
            String host = authority.substring(0, authority.indexOf(':'));
            Destination.Named to = new Destination.Named(HostName.of(host), 443);
            boolean allowed =
                    session.policy.connect(to).verdict().answer() == Verdict.Answer.ALLOW
                            || session.files.opens(to, session.policy);
            if (!allowed) {
                session.denied("egress", to.toString(), session.policy.connect(to).verdict());
                return;
            }
            channel.write(
                    ByteBuffer.wrap("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
            intercept.serve(session, new SocketPipe(channel), to, Scheme.HTTPS);
        } catch (IOException e) {
            // What the program sees is what counts.
        }
    }

    /** What a program gets; empty when there is no way. */
    String ask(String method, String host, String path, String... headers) throws IOException {
        try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), proxyPort())) {
            plain.setSoTimeout(20_000);
            plain.getOutputStream()
                    .write(
                            ("CONNECT " + host + ":443 HTTP/1.1\r\n\r\n")
                                    .getBytes(StandardCharsets.US_ASCII));
            if (!RawServer.head(plain.getInputStream()).contains("200")) {
                return "";
            }
            SSLSocket socket =
                    (SSLSocket)
                            TestCa.client(session.authority.certificates())
                                    .getSocketFactory()
                                    .createSocket(plain, host, 443, true);
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setServerNames(List.of(new SNIHostName(host)));
            socket.setSSLParameters(parameters);
            StringBuilder text = new StringBuilder(method + " " + path + " HTTP/1.1\r\nHost: ");
            text.append(host).append("\r\n");
            for (String header : headers) {
                text.append(header).append("\r\n");
            }
            text.append("Connection: close\r\n\r\n");
            socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.ISO_8859_1));
            java.io.ByteArrayOutputStream got = new java.io.ByteArrayOutputStream();
            try {
                socket.getInputStream().transferTo(got);
            } catch (IOException e) {
                // It was cut; what came before counts.
            }
            return got.toString(StandardCharsets.ISO_8859_1);
        }
    }

    String get(String host, String path, String... headers) throws IOException {
        return ask("GET", host, path, headers);
    }

    @Override
    public void close() throws IOException {
        door.close();
        http2.close();
        server.close();
    }
}
