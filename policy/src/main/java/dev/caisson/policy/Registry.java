package dev.caisson.policy;

import dev.caisson.api.CaissonException;

/**
 * The address of a registry of packages.
 *
 * @param ecosystem {@code pypi, npm, maven, debian}
 * @param scheme {@link Scheme#HTTPS}, or {@link Scheme#HTTP} for a mirror in the clear
 * @param host its name
 * @param port 1 to 65535
 * @param path begins with a slash; no slash at its end but for the root
 */
public record Registry(String ecosystem, Scheme scheme, HostName host, int port, String path) {
    private static final int MAX = 512;

    /**
     * Reads an address.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for what is no plain http
     *     or https address of a host name
     */
    public static Registry of(String ecosystem, String url) {
        String field = "egress.packages." + ecosystem + ".registry";
        boolean tls = url.startsWith("https://");
        if (url.length() > MAX || (!tls && !url.startsWith("http://"))) {
            throw refused(field, url);
        }
        int from = tls ? 8 : 7;
        int slash = url.indexOf('/', from);
        String authority = slash < 0 ? url.substring(from) : url.substring(from, slash);
        String path = slash < 0 ? "/" : url.substring(slash);
        int colon = authority.indexOf(':');
        String host = colon < 0 ? authority : authority.substring(0, colon);
        if (host.startsWith("*") || HttpPath.normal(path).isEmpty()) {
            throw refused(field, url);
        }
        try {
            return new Registry(
                    ecosystem,
                    tls ? Scheme.HTTPS : Scheme.HTTP,
                    HostName.of(host),
                    colon < 0 ? tls ? 443 : 80 : Ports.parse(authority.substring(colon + 1)),
                    path.length() > 1 && path.endsWith("/")
                            ? path.substring(0, path.length() - 1)
                            : path);
        } catch (CaissonException e) {
            throw Wrong.in(field, e);
        }
    }

    private static CaissonException refused(String field, String url) {
        return Wrong.field(field, url, "an http or https address of a host, up to " + MAX);
    }
}
