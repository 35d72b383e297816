package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.control.PortService;
import dev.caisson.control.PortVisitor;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSocket;
import org.eclipse.jetty.http.HttpVersion;
import org.jspecify.annotations.Nullable;

/**
 * A client's connection to ports of sandboxes: one request at a time, each over a tunnel of its
 * own. Whatever has two readings ends the connection. Everything but reading of the client runs in
 * the thread that calls {@link #run}.
 */
final class ProxyConnection {
    private static final Duration HEAD = Duration.ofSeconds(15);
    private static final Duration IDLE = Duration.ofSeconds(30);
    private static final Duration BODY = Duration.ofSeconds(60);
    private static final Pattern HOST =
            Pattern.compile(
                    "([1-9][0-9]{0,4})-([a-z]{2}[a-z0-9]{20})\\.([a-z0-9.-]+)(:[0-9]{1,5})?");

    private final Socket raw;
    private final Socket socket;
    private final Places.Place place;
    private final PortService ports;
    private final PortsSettings settings;
    private final Metrics metrics;
    private final ClientFeed feed;
    private final Messages requests;
    private final OutputStream client;
    private volatile long writingSince;
    private volatile long closingSince;

    /**
     * A client's connection.
     *
     * @param raw what is closed to cut it, whoever is stuck in it
     * @param socket what is spoken on: the same, or TLS on it
     * @param place of the connection, closed by its owner
     */
    ProxyConnection(
            Socket raw,
            Socket socket,
            Places.Place place,
            PortService ports,
            PortsSettings settings,
            Metrics metrics)
            throws IOException {
        this.raw = raw;
        this.socket = socket;
        this.place = place;
        this.ports = ports;
        this.settings = settings;
        this.metrics = metrics;
        this.feed = new ClientFeed(socket.getInputStream());
        this.requests = Messages.requests(feed);
        this.client = socket.getOutputStream();
    }

    /** Serves until one side has enough. */
    void run() throws IOException {
        try (Closeable _ = this::end) {
            feed.within(HEAD);
            while (serveOne()) {
                feed.within(IDLE);
            }
        }
    }

    /** TLS says goodbye, and may wait with that as with any other bytes. */
    private void end() throws IOException {
        closingSince = System.nanoTime() | 1;
        socket.close();
    }

    /**
     * Whether the client stopped taking bytes.
     *
     * @param writing longest time for a part of an answer
     * @param closing the same for the end of the connection
     */
    boolean stalled(Duration writing, Duration closing) {
        return longer(writingSince, writing) || longer(closingSince, closing);
    }

    private static boolean longer(long since, Duration longest) {
        return since != 0 && System.nanoTime() - since > longest.toNanos();
    }

    void cut() throws IOException {
        raw.close();
    }

    private boolean serveOne() throws IOException {
        Messages.@Nullable Head head = null;
        try {
            Optional<Messages.Head> next = requests.head();
            if (next.isEmpty()) {
                return false;
            }
            head = next.get();
            check(head);
            Target target = target(head);
            Optional<String> link = PortEntry.link(head);
            if (link.isPresent()) {
                enter(target, link.get());
                return false;
            }
            try (Tunnel tunnel = dial(head, target)) {
                feed.onGone(tunnel::close);
                return forward(head, tunnel);
            } finally {
                feed.onGone(() -> {});
            }
        } catch (CaissonException e) {
            refuse(head, e.code().httpStatus(), e);
        } catch (Messages.Malformed e) {
            refuse(
                    head,
                    e.status(),
                    CaissonException.invalid(
                            "request", "The request is refused: " + e.getMessage()));
        }
        return false;
    }

    private static void check(Messages.Head head) throws IOException {
        if (!head.target().startsWith("/") && !head.target().equals("*")) {
            throw new Messages.Malformed(400, "Its target must be a path.");
        }
        if (head.method().equals("CONNECT") || head.method().equals("TRACE")) {
            throw new Messages.Malformed(405, "That method is not passed on.");
        }
        List<String> coding = head.values("Transfer-Encoding");
        boolean chunkedOnly =
                coding.isEmpty()
                        || (coding.size() == 1 && coding.getFirst().equalsIgnoreCase("chunked"));
        if (!chunkedOnly || (!coding.isEmpty() && !head.values("Content-Length").isEmpty())) {
            throw new Messages.Malformed(400, "Its length has two readings.");
        }
        if (head.values("Content-Length").size() > 1 || head.values("Host").size() != 1) {
            throw new Messages.Malformed(400, "A header is given twice, or Host is missing.");
        }
        if (head.values(ProxyHeads.TOKEN).size() > 1) {
            throw new Messages.Malformed(400, "The token is given twice.");
        }
    }

    /** What a host name stands for. */
    private record Target(String sandbox, int port) {}

    private Target target(Messages.Head head) {
        Matcher host = HOST.matcher(head.value("Host").orElse("").toLowerCase(Locale.ROOT));
        if (!host.matches()
                || Integer.parseInt(host.group(1)) > 65_535
                || (!settings.domain().isEmpty() && !settings.domain().equals(host.group(3)))) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no such port of a sandbox.")
                    .withRemedy("The host name must be PORT-ID.domain.");
        }
        return new Target(host.group(2), Integer.parseInt(host.group(1)));
    }

    /** Nothing of it goes inside. */
    private void enter(Target target, String link) throws IOException {
        PortService.Entry entry = ports.enter(target.sandbox(), target.port(), link);
        metrics.proxied(303);
        write(PortEntry.answer(entry, socket instanceof SSLSocket));
    }

    private Tunnel dial(Messages.Head head, Target target) {
        return ports.dialPublic(
                target.sandbox(),
                target.port(),
                new PortVisitor(head.value(ProxyHeads.TOKEN).orElse(null), PortEntry.passes(head)),
                tenant -> place.visits(tenant, target.sandbox()));
    }

    private boolean forward(Messages.Head head, Tunnel tunnel) throws IOException {
        boolean upgrades = head.has("Connection", "upgrade") && head.value("Upgrade").isPresent();
        String client = "";
        if (socket.getRemoteSocketAddress() instanceof InetSocketAddress address) {
            client = address.getAddress().getHostAddress();
        }
        OutputStream inside = tunnel.output();
        inside.write(
                ProxyHeads.request(head, client, socket instanceof SSLSocket, upgrades)
                        .getBytes(StandardCharsets.ISO_8859_1));
        inside.flush();
        AtomicBoolean bodySent = new AtomicBoolean();
        boolean hasBody = head.chunked() || head.length() > 0;
        Thread body =
                Thread.ofVirtual()
                        .name("ports-body")
                        .unstarted(() -> sendBody(head, tunnel, bodySent));
        if (hasBody) {
            body.start();
        } else {
            sendBody(head, tunnel, bodySent);
        }
        Messages answers = Messages.responses(tunnel.input()::read, head.method().equals("HEAD"));
        Messages.Head answer = answer(answers);
        metrics.proxied(answer.status());
        if (answer.status() == 101) {
            return upgrades && !hasBody && relay(answer, answers, tunnel);
        }
        boolean complete = back(head, answer, answers);
        // An answer that did not wait for the body leaves more of it on its way.
        return complete && ended(body) && bodySent.get() && ProxyHeads.persistent(head);
    }

    /** The first answer that is one. */
    private static Messages.Head answer(Messages answers) {
        try {
            while (true) {
                Optional<Messages.Head> head = answers.head();
                if (head.isEmpty()) {
                    throw failed("The program behind this port closed the connection.");
                }
                if (head.get().status() >= 200 || head.get().status() == 101) {
                    return head.get();
                }
                while (answers.content() != null) {
                    // An interim answer has no body; this reads its end.
                }
            }
        } catch (IOException e) {
            throw failed("The program behind this port does not speak HTTP.");
        }
    }

    private static CaissonException failed(String message) {
        return CaissonException.of(ErrorCode.ENGINE_FAILED, message)
                .withRemedy("Look whether it runs and what it wrote.");
    }

    private void sendBody(Messages.Head head, Tunnel tunnel, AtomicBoolean sent) {
        try {
            OutputStream inside = tunnel.output();
            if (head.has("Expect", "100-continue")) {
                write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            }
            feed.within(BODY);
            for (ByteBuffer part; (part = requests.content()) != null; feed.within(BODY)) {
                byte[] bytes = new byte[part.remaining()];
                part.get(bytes);
                if (head.chunked()) {
                    inside.write(chunk(bytes));
                } else {
                    inside.write(bytes);
                }
                inside.flush();
            }
            if (head.chunked()) {
                inside.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                inside.flush();
            }
            sent.set(true);
        } catch (IOException e) {
            // A body that was cut must not look like one that came to its end.
            tunnel.close();
        }
    }

    private static byte[] chunk(byte[] bytes) {
        byte[] size =
                (Integer.toHexString(bytes.length) + "\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] chunk = new byte[size.length + bytes.length + 2];
        System.arraycopy(size, 0, chunk, 0, size.length);
        System.arraycopy(bytes, 0, chunk, size.length, bytes.length);
        chunk[chunk.length - 2] = '\r';
        chunk[chunk.length - 1] = '\n';
        return chunk;
    }

    /** Whether the answer came to its end, so that another request can follow. */
    private boolean back(Messages.Head request, Messages.Head answer, Messages answers)
            throws IOException {
        boolean bodiless =
                request.method().equals("HEAD") || answer.status() == 204 || answer.status() == 304;
        boolean length = !answer.chunked() && answer.value("Content-Length").isPresent();
        boolean chunk = !bodiless && !length && request.version() == HttpVersion.HTTP_1_1;
        boolean ends = bodiless || length || chunk;
        List<String> framing = new java.util.ArrayList<>();
        if (length && answer.status() != 204) {
            framing.add("Content-Length: " + answer.value("Content-Length").orElse("0"));
        } else if (chunk) {
            framing.add("Transfer-Encoding: chunked");
        }
        if (!ends || !ProxyHeads.persistent(request)) {
            framing.add("Connection: close");
        }
        write(ProxyHeads.response(answer, framing).getBytes(StandardCharsets.ISO_8859_1));
        try {
            for (ByteBuffer part; (part = answers.content()) != null; ) {
                byte[] bytes = new byte[part.remaining()];
                part.get(bytes);
                write(chunk ? chunk(bytes) : bytes);
            }
        } catch (Messages.Malformed e) {
            // The head is out: only a broken connection can say that the body is.
            return false;
        }
        if (chunk) {
            write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        }
        return ends;
    }

    private void write(byte[] bytes) throws IOException {
        writingSince = System.nanoTime() | 1;
        try {
            client.write(bytes);
            client.flush();
        } finally {
            writingSince = 0;
        }
    }

    /** Bytes both ways until one side ends; always false, for no HTTP follows. */
    private boolean relay(Messages.Head answer, Messages answers, Tunnel tunnel)
            throws IOException {
        List<String> framing =
                List.of(
                        "Connection: Upgrade",
                        "Upgrade: " + answer.value("Upgrade").orElse("websocket"));
        write(ProxyHeads.response(answer, framing).getBytes(StandardCharsets.ISO_8859_1));
        write(answers.rest());
        Thread.ofVirtual().name("ports-relay").start(() -> relayIn(tunnel));
        InputStream inside = tunnel.input();
        byte[] part = new byte[16 << 10];
        for (int read; (read = inside.read(part)) >= 0; ) {
            write(java.util.Arrays.copyOf(part, read));
        }
        return false;
    }

    private void relayIn(Tunnel tunnel) {
        try {
            OutputStream inside = tunnel.output();
            inside.write(requests.rest());
            inside.flush();
            feed.within(Duration.ofDays(365));
            byte[] part = new byte[16 << 10];
            for (int read; (read = feed.read(part)) >= 0; ) {
                inside.write(part, 0, read);
                inside.flush();
            }
        } catch (IOException e) {
            // Either side is gone.
        }
        tunnel.close();
    }

    /** Whether the body's thread has ended, as it usually has long ago. */
    private static boolean ended(Thread body) {
        try {
            return body.getState() == Thread.State.NEW || body.join(Duration.ofSeconds(1));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void refuse(Messages.@Nullable Head head, int status, CaissonException error)
            throws IOException {
        metrics.proxied(status);
        boolean html =
                head != null
                        && head.values("Accept").stream().anyMatch(a -> a.contains("text/html"));
        write(ProxyErrors.answer(status, error, html));
    }
}
