package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.util.Map;
import java.util.Optional;

/**
 * What somebody asks about: {@code https://host/path}, {@code POST https://host/path}, {@code
 * host:port}, {@code host}, an address with or without a port.
 *
 * @param to the destination
 * @param request empty: only the connection is asked about
 */
public record EgressTarget(Destination to, Optional<HttpRequestLine> request) {
    private static final int MAX = 8192;

    /**
     * Reads one.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for any other text
     */
    public static EgressTarget of(String text) {
        if (text.isBlank() || text.length() > MAX) {
            throw refused(text);
        }
        int space = text.indexOf(' ');
        String method = space < 0 ? "GET" : text.substring(0, space);
        String place = space < 0 ? text : text.substring(space + 1);
        int end = place.indexOf("://");
        if (end < 0) {
            if (space >= 0) {
                throw refused(text);
            }
            return new EgressTarget(destination(place, 443), Optional.empty());
        }
        return switch (place.substring(0, end)) {
            case "https" -> url(Scheme.HTTPS, 443, method, place.substring(end + 3));
            case "http" -> url(Scheme.HTTP, 80, method, place.substring(end + 3));
            default -> throw refused(text);
        };
    }

    private static EgressTarget url(Scheme scheme, int port, String method, String rest) {
        int cut = rest.length();
        for (int i = 0; i < rest.length() && cut == rest.length(); i++) {
            cut = "/?#".indexOf(rest.charAt(i)) >= 0 ? i : cut;
        }
        String path = rest.substring(cut).split("[?#]", 2)[0];
        HttpRequestLine line =
                new HttpRequestLine(scheme, method, path.isEmpty() ? "/" : path, Map.of());
        return new EgressTarget(destination(rest.substring(0, cut), port), Optional.of(line));
    }

    private static Destination destination(String authority, int standard) {
        boolean bracket = authority.startsWith("[");
        int close = authority.indexOf(']');
        int colon = bracket ? authority.indexOf(':', Math.max(0, close)) : authority.indexOf(':');
        boolean bare = !bracket && colon >= 0 && authority.indexOf(':', colon + 1) >= 0;
        if (bracket
                && (close < 0
                        || (colon < 0 ? close + 1 < authority.length() : colon != close + 1))) {
            throw refused(authority);
        }
        String host = bare || colon < 0 ? authority : authority.substring(0, colon);
        int port = bare || colon < 0 ? standard : Ports.parse(authority.substring(colon + 1));
        String plain = bracket ? host.substring(1, close) : host;
        IpAddress address = AddressText.parse(plain);
        if (address == null && (bracket || bare)) {
            throw refused(authority);
        }
        return address == null
                ? new Destination.Named(HostName.of(plain), port)
                : new Destination.Literal(address, port);
    }

    private static CaissonException refused(String text) {
        return CaissonException.invalid(
                        "target", "'" + Wrong.printable(text) + "' is no destination.")
                .withRemedy("Write https://host/path, POST https://host/path or host:port.")
                .withDetail("requested", Wrong.printable(text))
                .withDetail("allowed", "https://host/path, POST https://host/path, host:port");
    }
}
