package dev.caisson.bench;

import java.util.Optional;
import java.util.OptionalDouble;

/**
 * One thing that was measured, or skipped with the reason.
 *
 * @param name stable, for example {@code cycle.paced}
 * @param value empty when it was skipped
 * @param unit of both values
 * @param peer what ran beside it; empty when it has none
 * @param peerValue the peer's, measured in the same run
 * @param target what is to be reached; empty for numbers that are only told
 * @param skipped why nothing was measured; empty when it was
 * @param note how to read it, parts of it
 */
record Row(
        String name,
        OptionalDouble value,
        String unit,
        String peer,
        OptionalDouble peerValue,
        Optional<Target> target,
        String skipped,
        String note) {

    static Row of(String name, double value, String unit) {
        return new Row(
                name,
                OptionalDouble.of(value),
                unit,
                "",
                OptionalDouble.empty(),
                Optional.empty(),
                "",
                "");
    }

    /** Nothing was measured; its target is not met. */
    static Row skipped(String name, String reason) {
        return new Row(
                name,
                OptionalDouble.empty(),
                "",
                "",
                OptionalDouble.empty(),
                Optional.empty(),
                reason,
                "");
    }

    Row withPeer(String newPeer, double newPeerValue) {
        OptionalDouble beside = OptionalDouble.of(newPeerValue);
        return new Row(name, value, unit, newPeer, beside, target, skipped, note);
    }

    Row withTarget(Target newTarget) {
        return new Row(name, value, unit, peer, peerValue, Optional.of(newTarget), skipped, note);
    }

    Row withNote(String newNote) {
        return new Row(name, value, unit, peer, peerValue, target, skipped, newNote);
    }

    /** Value over peer value; empty without a peer. */
    OptionalDouble ratio() {
        if (value.isEmpty() || peerValue.isEmpty() || peerValue.getAsDouble() == 0) {
            return OptionalDouble.empty();
        }
        return OptionalDouble.of(value.getAsDouble() / peerValue.getAsDouble());
    }

    /** Whether the target is met; empty where there is none. */
    Optional<Boolean> met() {
        return target.map(wanted -> wanted.met(value, ratio()));
    }
}
