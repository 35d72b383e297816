package dev.caisson.policy;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a rule opens of the places that it is about.
 *
 * @param ports what may be spoken on each
 * @param http rules of requests; empty: any request
 * @param terminate TLS is terminated
 */
record Opening(
        Map<Integer, Set<Scheme>> ports,
        List<HttpMatcher> http,
        boolean terminate,
        boolean outerSni,
        boolean noSni) {
    Opening {
        ports = Map.copyOf(ports);
        http = List.copyOf(http);
    }

    Set<Scheme> schemes(int port) {
        return ports.getOrDefault(port, Set.of());
    }

    /** Whether a request of that scheme may come on a port. */
    boolean carries(int port, Scheme scheme) {
        return schemes(port).stream().anyMatch(allowed -> covers(allowed, scheme));
    }

    /** Whether what speaks one scheme is within another. */
    static boolean covers(Scheme wide, Scheme narrow) {
        return switch (wide) {
            case TCP -> true;
            case TLS -> narrow == Scheme.TLS || narrow == Scheme.HTTPS;
            case HTTPS, HTTP -> narrow == wide;
        };
    }
}
