package dev.caisson.control;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Output that is kept of a sandbox, of all its execs. */
public interface LogService {
    /**
     * Tells what is kept, in order of time, and what comes with {@code follow} until the sandbox
     * ends; then {@code exit} without an exec is last. Blocks.
     *
     * @param after id of the last item that was seen; null: from the start
     */
    void read(
            Caller caller,
            String sandbox,
            boolean follow,
            @Nullable String after,
            Follower follower)
            throws IOException;
}
