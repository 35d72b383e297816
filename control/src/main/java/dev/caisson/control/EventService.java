package dev.caisson.control;

import dev.caisson.v1.EventJson;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What happened. */
public interface EventService {
    /** Behind a seq, oldest first. */
    List<EventJson> list(
            Caller caller, long after, int limit, @Nullable String sandbox, @Nullable String type);

    /** Tells events as they come until the sink throws; blocks. Null: nothing came for 15 s. */
    void follow(
            Caller caller,
            long after,
            @Nullable String sandbox,
            @Nullable String type,
            EventFollower follower)
            throws IOException;

    /** Takes events. */
    @FunctionalInterface
    interface EventFollower {
        /** One, or null as a keepalive. */
        void accept(@Nullable EventJson event) throws IOException;
    }
}
