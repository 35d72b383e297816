package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The gateway as an HTTP proxy, for programs that are set to use one: they get what they would get
 * without it. CONNECT leads to a connection like any other; a request with an absolute address is
 * handed to those who judge requests. Credentials for a proxy are nobody's and go nowhere.
 */
final class ProxyDoor {
    private final Connection connection;
    private final Inside inside;

    ProxyDoor(Connection connection, Inside inside) {
        this.connection = connection;
        this.inside = inside;
    }

    ResetReason serve() throws IOException {
        ProxyRequest request;
        try {
            Optional<ProxyRequest> read = ProxyRequest.read(inside);
            if (read.isEmpty()) {
                return ResetReason.RESET_ABORTED;
            }
            request = read.get();
        } catch (MalformedException e) {
            return answer(400, "Bad Request", "The proxy cannot read this: " + e.getMessage());
        }
        try {
            return request.isConnect() ? tunnel(request) : forward(request);
        } catch (IllegalArgumentException | CaissonException e) {
            Verdict verdict = Refusals.proxy("Ask for a valid host and port.");
            connection.denied("egress", request.authority(), verdict);
            return answer(403, "Forbidden", "No host and port: " + request.authority());
        } catch (DeniedException e) {
            return answer(
                    403,
                    "Forbidden",
                    "Denied by rule '" + e.verdict().rule() + "'. " + e.verdict().remedy());
        }
    }

    private ResetReason tunnel(ProxyRequest request) throws IOException {
        Destination to = destination(HostPort.parse(request.authority(), 0));
        boolean[] greeted = new boolean[1];
        try {
            ResetReason reason =
                    connection.converse(
                            inside,
                            to,
                            () -> {
                                greeted[0] = true;
                                send("HTTP/1.1 200 Connection established\r\n\r\n");
                            });
            return greeted[0] || reason != ResetReason.RESET_FAILED
                    ? reason
                    : answer(502, "Bad Gateway", to + " could not be reached.");
        } catch (DeniedException e) {
            if (greeted[0]) {
                return ResetReason.RESET_DENIED; // an answer would be taken for the server's
            }
            throw e;
        }
    }

    private ResetReason forward(ProxyRequest request) throws IOException {
        Destination to = destination(HostPort.parse(request.authority(), 80));
        inside.unread(request.rewritten().getBytes(StandardCharsets.ISO_8859_1));
        return connection.converse(inside, to, () -> {});
    }

    /** What a host in a request names; a synthetic address is its name. */
    private Destination destination(HostPort target) throws DeniedException {
        String host = target.host();
        boolean address = host.indexOf(':') >= 0 || HostNames.isNumeric(host);
        if (!address) {
            return checked(new Destination.Named(HostName.of(host), target.port()));
        }
        Optional<Destination> found =
                connection.owner().destination(IpAddress.parse(host), target.port());
        if (found.isEmpty()) {
            Verdict verdict = Refusals.synthetic();
            connection.denied("egress", host + ":" + target.port(), verdict);
            throw new DeniedException(verdict);
        }
        return checked(found.get());
    }

    /** A proxy that is reached through itself would be a loop. */
    private Destination checked(Destination to) throws DeniedException {
        if (to instanceof Destination.Named named && named.host().equals(Sandbox.PROXY)) {
            Verdict verdict = Refusals.proxy("Name the host that you want to reach.");
            connection.denied("egress", to.toString(), verdict);
            throw new DeniedException(verdict);
        }
        return to;
    }

    private ResetReason answer(int status, String reason, String text) throws IOException {
        byte[] body = (text + "\n").getBytes(StandardCharsets.UTF_8);
        send(
                "HTTP/1.1 "
                        + status
                        + " "
                        + reason
                        + "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
                        + body.length
                        + "\r\nConnection: close\r\n\r\n"
                        + new String(body, StandardCharsets.ISO_8859_1));
        inside.shutdownOutput();
        return status == 403 ? ResetReason.RESET_DENIED : ResetReason.RESET_ABORTED;
    }

    private void send(String text) throws IOException {
        inside.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)));
    }
}
