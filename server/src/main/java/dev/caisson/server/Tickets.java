package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.core.TenantPlaces;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One-time tickets for a browser's WebSocket, which can send no header: bound to one path and one
 * caller, for 30 seconds, kept in memory. Thread-safe.
 */
final class Tickets {
    static final Duration LIFE = Duration.ofSeconds(30);
    private static final int MOST = 10_000;

    private final SecureRandom random = new SecureRandom();
    private final Clock clock;
    private final TenantPlaces places = new TenantPlaces("tickets that nobody used", MOST);

    // Oldest first; guarded by this.
    private final Map<String, Ticket> tickets = new LinkedHashMap<>();

    /** What a ticket is good for. */
    private record Ticket(Caller caller, String path, Instant expires, TenantPlaces.Place place) {}

    Tickets(Clock clock) {
        this.clock = clock;
    }

    Instant now() {
        return clock.instant();
    }

    /**
     * A new ticket.
     *
     * @throws CaissonException {@link ErrorCode#NO_CAPACITY} when the tenant, or all together, have
     *     too many
     */
    synchronized String issue(Caller caller, String path) {
        Instant now = clock.instant();
        expire(now);
        TenantPlaces.Place place = places.take(caller.tenant());
        byte[] bytes = new byte[24];
        random.nextBytes(bytes);
        String token = Base64.getUrlEncoder().encodeToString(bytes);
        tickets.put(token, new Ticket(caller, path, end(caller, now), place));
        return token;
    }

    /** When a ticket of that caller ends. */
    static Instant end(Caller caller, Instant now) {
        return caller.within(now.plus(LIFE));
    }

    /** Those that end early, with their key, go with the ones before them. */
    private void expire(Instant now) {
        Iterator<Ticket> oldest = tickets.values().iterator();
        while (oldest.hasNext()) {
            Ticket ticket = oldest.next();
            if (ticket.expires().isAfter(now)) {
                return;
            }
            oldest.remove();
            ticket.place().close();
        }
    }

    /** Uses a ticket up, wherever it was meant for. */
    synchronized Optional<Caller> redeem(@Nullable String token, String path) {
        Ticket ticket = token == null ? null : tickets.remove(token);
        if (ticket != null) {
            ticket.place().close();
        }
        if (ticket == null
                || !ticket.expires().isAfter(clock.instant())
                || !ticket.path().equals(path)) {
            return Optional.empty();
        }
        return Optional.of(ticket.caller());
    }
}
