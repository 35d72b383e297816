package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a list, newest first.
 *
 * @param items at most {@code limit} of them
 * @param nextCursor opaque; absent at the end
 * @param <T> what is listed
 */
public record Page<T>(List<T> items, @Nullable String nextCursor) {
    /** Copies the list. */
    public Page {
        items = List.copyOf(Absent.list(items));
    }
}
