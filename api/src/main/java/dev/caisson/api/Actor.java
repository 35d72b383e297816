package dev.caisson.api;

import java.util.Map;
import java.util.Optional;

/**
 * Who made something happen.
 *
 * @param keyId of the credential; empty in embedded use
 * @param subject who it is: a name of the tenant, or the operating system's user
 * @param claimed what a client says about itself ({@code agent}, {@code task}); not verified
 */
public record Actor(Optional<String> keyId, String subject, Map<String, String> claimed) {

    /** Copies the map. */
    public Actor {
        claimed = Map.copyOf(claimed);
    }
}
