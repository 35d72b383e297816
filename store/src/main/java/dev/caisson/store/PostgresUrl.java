package dev.caisson.store;

import dev.caisson.api.CaissonException;
import java.net.URI;
import java.net.URISyntaxException;
import org.postgresql.ds.PGSimpleDataSource;

/** Turns {@code postgresql://user@host:port/database?parameters} into the driver's form. */
final class PostgresUrl {
    private static final int CONNECT_SECONDS = 5;

    /** A server that vanished without a word is noticed after this. */
    private static final int SILENCE_SECONDS = 60;

    private PostgresUrl() {}

    static PGSimpleDataSource source(StoreConfig config) {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setConnectTimeout(CONNECT_SECONDS);
        source.setSocketTimeout(SILENCE_SECONDS);
        source.setTcpKeepAlive(true);
        source.setApplicationName("caisson " + config.node());
        try {
            source.setUrl(jdbc(config.url()));
        } catch (IllegalArgumentException e) {
            throw wrong(config);
        }
        if (config.password() != null) {
            source.setPassword(config.password());
        }
        return source;
    }

    static String jdbc(String url) {
        if (url.startsWith("jdbc:")) {
            return url;
        }
        try {
            URI uri = new URI(url);
            StringBuilder jdbc = new StringBuilder("jdbc:postgresql://");
            String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
            int at = authority.lastIndexOf('@');
            jdbc.append(authority.substring(at + 1)).append(uri.getRawPath());
            String query = uri.getRawQuery();
            char separator = '?';
            if (query != null) {
                jdbc.append(separator).append(query);
                separator = '&';
            }
            if (at >= 0) {
                jdbc.append(separator).append("user=").append(authority, 0, at);
            }
            return jdbc.toString();
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static CaissonException wrong(StoreConfig config) {
        return CaissonException.invalid(
                        "url", "The URL of the store is wrong: " + Redacted.url(config.url()))
                .withRemedy("Use postgresql://user@host:port/database.");
    }
}
