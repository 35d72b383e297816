package dev.caisson.mcp;

import java.time.Duration;
import java.util.Set;

/**
 * How {@link StreamableHttp} behaves.
 *
 * @param session of each session
 * @param origins values of {@code Origin} that are let in, exactly; default none, so that no web
 *     page gets in. Requests without the header, which are not of browsers, are let in
 * @param maxSessions of all keys together, of which each tenant has a share; default 512
 * @param maxSessionsPerKey default 32
 * @param idle a session without a request or an open stream ends after that; default 30 min
 * @param keepalive a comment on a stream on which nothing came for so long; default 15 s
 */
public record HttpSettings(
        SessionSettings session,
        Set<String> origins,
        int maxSessions,
        int maxSessionsPerKey,
        Duration idle,
        Duration keepalive) {

    private static final HttpSettings DEFAULTS =
            new HttpSettings(
                    SessionSettings.defaults(),
                    Set.of(),
                    512,
                    32,
                    Duration.ofMinutes(30),
                    Duration.ofSeconds(15));

    /** The defaults named above. */
    public static HttpSettings defaults() {
        return DEFAULTS;
    }

    /** Copies the set. */
    public HttpSettings {
        origins = Set.copyOf(origins);
    }

    /** The same with other settings of sessions. */
    public HttpSettings withSession(SessionSettings newSession) {
        return new HttpSettings(
                newSession, origins, maxSessions, maxSessionsPerKey, idle, keepalive);
    }

    /** The same with other origins. */
    public HttpSettings withOrigins(Set<String> newOrigins) {
        return new HttpSettings(
                session, newOrigins, maxSessions, maxSessionsPerKey, idle, keepalive);
    }

    /** The same with other numbers of sessions. */
    public HttpSettings withMaxSessions(int newMaxSessions, int newMaxSessionsPerKey) {
        return new HttpSettings(
                session, origins, newMaxSessions, newMaxSessionsPerKey, idle, keepalive);
    }

    /** The same with another idle time. */
    public HttpSettings withIdle(Duration newIdle) {
        return new HttpSettings(
                session, origins, maxSessions, maxSessionsPerKey, newIdle, keepalive);
    }

    /** The same with another time between keepalives. */
    public HttpSettings withKeepalive(Duration newKeepalive) {
        return new HttpSettings(
                session, origins, maxSessions, maxSessionsPerKey, idle, newKeepalive);
    }
}
