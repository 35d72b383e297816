package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.TenantPlaces;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions of {@link StreamableHttp}. A thread of its own ends those that nobody uses. */
final class HttpSessions implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpSessions.class);
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final Duration LONGEST_SWEEP = Duration.ofSeconds(30);

    /** Open streams, for each session that may be. */
    private static final int STREAMS_EACH = 2;

    private final HttpSettings settings;
    private final TenantPlaces places;
    private final Map<String, HttpSession> sessions = new ConcurrentHashMap<>();
    private final Thread sweeper;

    HttpSessions(HttpSettings settings) {
        this.settings = settings;
        this.places = new TenantPlaces("MCP sessions", settings.maxSessions());
        this.sweeper = Thread.ofVirtual().name("mcp-sweep").start(this::sweep);
    }

    /**
     * A new session.
     *
     * @throws CaissonException {@link ErrorCode#QUOTA_EXCEEDED} of one key, {@link
     *     ErrorCode#NO_CAPACITY} of its tenant or all
     */
    synchronized HttpSession open(Gate.Access access) {
        long ofKey =
                sessions.values().stream()
                        .filter(one -> one.owner().equals(access.owner()))
                        .count();
        if (ofKey >= settings.maxSessionsPerKey()) {
            throw CaissonException.of(
                            ErrorCode.QUOTA_EXCEEDED, "This key has too many MCP sessions.")
                    .withRemedy("End sessions with DELETE, or wait until idle ones end.");
        }
        TenantPlaces.Place place = places.take(access.tenant());
        boolean opened = false;
        try {
            HttpSession session = session(access, place);
            sessions.put(session.id(), session);
            opened = true;
            return session;
        } finally {
            if (!opened) {
                place.close();
            }
        }
    }

    private HttpSession session(Gate.Access access, TenantPlaces.Place place) {
        byte[] random = new byte[24];
        RANDOM.nextBytes(random);
        return new HttpSession(
                HexFormat.of().formatHex(random),
                new HttpSession.Holder(access.tenant(), access.owner(), place),
                new McpSession(access.backend().get(), settings.session()),
                settings.keepalive());
    }

    /**
     * Refuses a stream of a tenant that has as many as it leaves free of them: each is a connection
     * of the server.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY}
     */
    void requireStream(HttpSession session) {
        int all = 0;
        int own = 0;
        for (HttpSession one : sessions.values()) {
            int readers = one.readers();
            all += readers;
            own += one.tenant().equals(session.tenant()) ? readers : 0;
        }
        if (own + 1 > STREAMS_EACH * settings.maxSessions() - (all + 1)) {
            throw CaissonException.of(
                            ErrorCode.NO_CAPACITY,
                            "This tenant has as many open MCP streams as one may now ("
                                    + own
                                    + ").")
                    .withRemedy("Close some, or wait for answers.");
        }
    }

    /**
     * The session of that id, for its owner.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} without an id, {@link ErrorCode#NOT_FOUND}
     *     for all others, those of other credentials too
     */
    HttpSession find(@Nullable String id, String owner) {
        if (id == null) {
            throw CaissonException.invalid(
                            "Mcp-Session-Id", "The header Mcp-Session-Id is missing.")
                    .withRemedy(
                            "Send initialize first, and the header of its answer from then on.");
        }
        HttpSession session = sessions.get(id);
        if (session == null || !session.owner().equals(owner)) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no such session.")
                    .withRemedy("Send initialize again.");
        }
        session.used();
        return session;
    }

    void close(HttpSession session) {
        if (sessions.remove(session.id(), session)) {
            session.close();
        }
    }

    private void sweep() {
        Duration idle = settings.idle();
        Duration every =
                idle.dividedBy(4).compareTo(LONGEST_SWEEP) < 0 ? idle.dividedBy(4) : LONGEST_SWEEP;
        try {
            while (true) {
                Thread.sleep(every);
                List.copyOf(sessions.values()).stream()
                        .filter(session -> session.idle(idle))
                        .forEach(this::end);
            }
        } catch (InterruptedException e) {
            // Closed.
        }
    }

    private void end(HttpSession session) {
        LOG.info("idle MCP session ends owner={}", session.owner());
        Thread.ofVirtual().name("mcp-end").start(() -> close(session));
    }

    @Override
    public void close() {
        sweeper.interrupt();
        List<Thread> ends =
                List.copyOf(sessions.values()).stream()
                        .map(one -> Thread.ofVirtual().name("mcp-end").start(() -> close(one)))
                        .toList();
        try {
            for (Thread end : ends) {
                end.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
