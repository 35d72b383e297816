package dev.caisson.control;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a caller has presented, as far as what is begun with it must end with it.
 *
 * @param mark of a key's secret, which a rotation changes and nobody can use; empty: it was no key
 * @param until when the key or token ends by itself; null: never
 */
public record Proof(String mark, @Nullable Instant until) {
    /** Of the service itself, and of what was begun before there were proofs. */
    public static final Proof NONE = new Proof("", null);
}
