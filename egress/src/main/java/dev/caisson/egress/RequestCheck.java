package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** What every request must be, whatever the policy says: for one host, with one meaning. */
final class RequestCheck {
    private static final Set<String> REFUSED_METHODS = Set.of("CONNECT", "TRACE", "TRACK", "PRI");
    private static final int MAX_TARGET = 16 << 10;

    private final Destination.Named to;
    private final Scheme scheme;

    RequestCheck(Destination.Named to, Scheme scheme) {
        this.to = to;
        this.scheme = scheme;
    }

    /**
     * Checks a request and gives it the form that is forwarded: path and query as target, one Host,
     * nothing that belongs to the connection.
     *
     * @throws BadHttpException it is not HTTP, or has two meanings
     * @throws DeniedException it is for another host
     */
    RequestHead check(RequestHead head) throws IOException {
        if (!HttpHeaders.isToken(head.method()) || REFUSED_METHODS.contains(head.method())) {
            throw new BadHttpException(405, "method not allowed");
        }
        Map<String, List<String>> headers = HttpHeaders.copy(head.headers());
        List<String> hosts = headers.getOrDefault("host", List.of());
        if (hosts.size() != 1) {
            throw new BadHttpException(400, "one Host is needed");
        }
        checkAuthority(hosts.getFirst());
        String target = origin(head);
        if (target.length() > MAX_TARGET) {
            throw new BadHttpException(414, "target too long");
        }
        if (!Http1Writer.isTarget(target)
                || (target.equals("*") && !head.method().equals("OPTIONS"))) {
            throw new BadHttpException(400, "bad target");
        }
        List<String> expect = headers.get("expect");
        if (expect != null
                && (expect.size() != 1 || !expect.getFirst().equalsIgnoreCase("100-continue"))) {
            throw new BadHttpException(417, "expectation failed");
        }
        HttpHeaders.removeHopByHop(headers);
        HttpHeaders.set(headers, "host", authority());
        RequestHead checked = new RequestHead(head.method(), target, headers);
        if (climbs(checked.path())) {
            throw new BadHttpException(400, "dot segments in the path");
        }
        return checked;
    }

    /** The host, with the port when it is not the scheme's own. */
    String authority() {
        return to.port() == defaultPort() ? to.host().value() : to.host() + ":" + to.port();
    }

    private String origin(RequestHead head) throws IOException {
        String target = head.target();
        if (target.startsWith("/") || target.equals("*")) {
            return target;
        }
        String start = scheme == Scheme.HTTPS ? "https://" : "http://";
        if (!target.toLowerCase(Locale.ROOT).startsWith(start)) {
            throw new BadHttpException(400, "bad target");
        }
        String rest = target.substring(start.length());
        int end = rest.length();
        for (char c : new char[] {'/', '?'}) {
            int at = rest.indexOf(c);
            end = at >= 0 ? Math.min(end, at) : end;
        }
        checkAuthority(rest.substring(0, end));
        String path = rest.substring(end);
        return path.startsWith("/") ? path : "/" + path;
    }

    private void checkAuthority(String authority) throws IOException {
        String name = authority.toLowerCase(Locale.ROOT);
        String host = to.host().value();
        String withPort = host + ":" + to.port();
        if (!name.equals(withPort) && !(name.equals(host) && to.port() == defaultPort())) {
            throw new DeniedException(
                    new Verdict(
                            Verdict.Answer.DENY,
                            "host of the request",
                            "Connect to the host that the request is for; this connection is to "
                                    + to
                                    + "."));
        }
    }

    private int defaultPort() {
        return scheme == Scheme.HTTPS ? 443 : 80;
    }

    /**
     * Whether some server would take a part of the path for a step up or in place: then the path
     * that a rule allowed is not the one that is served.
     */
    static boolean climbs(String path) {
        String plain =
                path.toLowerCase(Locale.ROOT)
                        .replace("%2e", ".")
                        .replace("%2f", "/")
                        .replace("%5c", "/")
                        .replace('\\', '/');
        for (String segment : plain.split("/", -1)) {
            int parameters = segment.indexOf(';');
            String name = parameters < 0 ? segment : segment.substring(0, parameters);
            if (name.equals(".") || name.equals("..")) {
                return true;
            }
        }
        return false;
    }
}
