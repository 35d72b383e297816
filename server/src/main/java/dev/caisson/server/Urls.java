package dev.caisson.server;

/** Addresses as the client that asks knows this server. */
final class Urls {
    private Urls() {}

    static String http(Exchange x, String path) {
        return (x.request.isSecure() ? "https://" : "http://") + authority(x) + path;
    }

    static String socket(Exchange x, String path) {
        return (x.request.isSecure() ? "wss://" : "ws://") + authority(x) + path;
    }

    /** The host was checked against the names that are ours. */
    private static String authority(Exchange x) {
        return x.request.getHttpURI().getAuthority();
    }
}
