package dev.caisson.control;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a visitor of a port presents.
 *
 * @param token of the port; null: none
 * @param passes of browsers that followed links; usually none or one
 */
public record PortVisitor(@Nullable String token, List<String> passes) {
    /** Copies the list. */
    public PortVisitor {
        passes = List.copyOf(passes);
    }

    @Override
    public String toString() {
        return "***";
    }
}
