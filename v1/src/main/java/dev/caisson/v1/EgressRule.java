package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A destination that is allowed: a host or an address range, not both.
 *
 * @param host a name, or {@code *.suffix} for every name below it (not the suffix itself)
 * @param cidr address range, or one address; the only way to reach addresses that are not public
 * @param ports empty: those of the schemes
 * @param schemes {@code https, http, tls, tcp}; empty: https for a host, tcp for a range. {@code
 *     tls} is any protocol in TLS whose server name is the host; {@code tcp} any bytes
 * @param http rules of requests, first match wins, no match is no; empty: any request. Makes TLS be
 *     terminated
 * @param terminate TLS is terminated even without rules of requests
 * @param ech {@code outer-sni}: a connection that offers an encrypted server name is judged by the
 *     outer one; absent: it is refused, unless TLS is terminated
 * @param noSni TLS without a server name may pass
 */
public record EgressRule(
        @Nullable String host,
        @Nullable String cidr,
        List<Integer> ports,
        List<String> schemes,
        List<HttpRule> http,
        @Nullable Boolean terminate,
        @Nullable String ech,
        @Nullable Boolean noSni) {
    /** Copies the collections; absent ones are empty. */
    public EgressRule {
        ports = List.copyOf(Absent.list(ports));
        schemes = List.copyOf(Absent.list(schemes));
        http = List.copyOf(Absent.list(http));
    }

    /** HTTPS to a host. */
    public static EgressRule https(String host) {
        return new EgressRule(host, null, List.of(), List.of(), List.of(), null, null, null);
    }
}
