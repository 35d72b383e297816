package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import dev.caisson.policy.HttpPath;
import dev.caisson.policy.Registry;
import dev.caisson.policy.Scheme;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Optional;

/**
 * Where a file of a registry is.
 *
 * @param to host and port
 * @param target path in its one form, and query as it was written
 */
record FileAddress(Scheme scheme, Destination.Named to, String target) {
    private static final int MAX = 2048;

    /** That of a request; empty when its path has no one form. */
    static Optional<FileAddress> of(Scheme scheme, Destination.Named to, String target) {
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        String query = mark < 0 ? "" : target.substring(mark);
        return HttpPath.normal(path).map(normal -> new FileAddress(scheme, to, normal + query));
    }

    /**
     * That of a link; empty: it is not one to follow. Other hosts are reached by https only.
     *
     * @param base address of the document that it stands in
     */
    static Optional<FileAddress> link(Registry registry, URI base, String text) {
        if (text.length() > MAX) {
            return Optional.empty();
        }
        try {
            URI url = base.resolve(new URI(text.strip()));
            if (url.getScheme() == null || url.getHost() == null || url.getRawUserInfo() != null) {
                return Optional.empty();
            }
            boolean tls = url.getScheme().toLowerCase(Locale.ROOT).equals("https");
            int port = url.getPort() >= 0 ? url.getPort() : tls ? 443 : 80;
            Destination.Named to = new Destination.Named(HostName.of(url.getHost()), port);
            boolean own = to.host().equals(registry.host()) && port == registry.port();
            Scheme scheme = tls ? Scheme.HTTPS : Scheme.HTTP;
            if (!tls && !(own && registry.scheme() == scheme && url.getScheme().equals("http"))) {
                return Optional.empty();
            }
            String query = url.getRawQuery() == null ? "" : "?" + url.getRawQuery();
            return of(scheme, to, url.getRawPath() + query);
        } catch (URISyntaxException | IllegalArgumentException | CaissonException e) {
            return Optional.empty();
        }
    }

    /** The same with something behind its path. */
    FileAddress with(String suffix) {
        int mark = target.indexOf('?');
        return mark < 0
                ? new FileAddress(scheme, to, target + suffix)
                : new FileAddress(
                        scheme, to, target.substring(0, mark) + suffix + target.substring(mark));
    }

    /** The last segment of the path. */
    String file() {
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
