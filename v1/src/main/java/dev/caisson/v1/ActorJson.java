package dev.caisson.v1;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who made something happen.
 *
 * @param keyId credential
 * @param subject who
 * @param claimed not verified
 */
public record ActorJson(@Nullable String keyId, String subject, Map<String, String> claimed) {
    /** Copies the collections; absent ones are empty. */
    public ActorJson {
        claimed = Map.copyOf(Absent.map(claimed));
    }
}
