package dev.caisson.control;

import dev.caisson.v1.StreamItem;
import java.io.IOException;

/** Takes the items of a stream, one at a time, in order; a slow one holds up only itself. */
@FunctionalInterface
public interface Follower {
    /** One item; an {@link IOException} ends the following. */
    void accept(StreamItem item) throws IOException;
}
