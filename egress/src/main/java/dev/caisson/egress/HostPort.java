package dev.caisson.egress;

/**
 * A host and a port as text, taken apart strictly: brackets around IPv6, digits only in the port,
 * no user, no path.
 *
 * @param host not judged yet; without brackets
 * @param port 1 to 65535
 */
record HostPort(String host, int port) {
    private static final int MAX_PORT = 65_535;
    private static final int MAX_LENGTH = 300;

    /**
     * Takes it apart.
     *
     * @param defaultPort when there is none; 0: one must be there
     * @throws IllegalArgumentException when it could be read in two ways
     */
    static HostPort parse(String text, int defaultPort) {
        if (text.length() > MAX_LENGTH) {
            throw new IllegalArgumentException("The address is too long.");
        }
        if (text.startsWith("[")) {
            int end = text.indexOf(']');
            String rest = end < 0 ? "?" : text.substring(end + 1);
            boolean six = text.indexOf(':') < end; // brackets are for IPv6 alone (RFC 3986, 3.2.2)
            if (!six || !rest.isEmpty() && !rest.startsWith(":")) {
                throw new IllegalArgumentException("No address and port: " + text);
            }
            int port = rest.isEmpty() ? defaultPort : port(rest.substring(1));
            return checked(text.substring(1, end), port, text);
        }
        int colon = text.indexOf(':');
        if (colon < 0 || text.indexOf(':', colon + 1) >= 0) {
            return checked(text, defaultPort, text); // no port, or IPv6 without brackets
        }
        return checked(text.substring(0, colon), port(text.substring(colon + 1)), text);
    }

    /**
     * Decimal digits alone, no leading zero: {@code +443}, {@code 0443} and {@code 65979} are none.
     */
    static int port(String text) {
        boolean digits =
                !text.isEmpty()
                        && text.length() <= 5
                        && text.charAt(0) != '0'
                        && text.chars().allMatch(c -> c >= '0' && c <= '9');
        int port = digits ? Integer.parseInt(text) : 0;
        if (port == 0 || port > MAX_PORT) {
            throw new IllegalArgumentException("No port: " + text);
        }
        return port;
    }

    private static HostPort checked(String host, int port, String text) {
        if (host.isEmpty() || port == 0) {
            throw new IllegalArgumentException("No address and port: " + text);
        }
        return new HostPort(host, port);
    }
}
