package dev.caisson.core;

import dev.caisson.api.Denied;
import dev.caisson.api.ExecResult;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What an exec is asked for beyond what the agent is told.
 *
 * @param outlives whether somebody else may take it over when this client goes away
 * @param refusals what the way out refused since it began; asked once at the end, may block; empty:
 *     there is none
 */
record ExecOptions(
        boolean capture,
        long outputLimit,
        boolean killOnOutput,
        List<String> degraded,
        boolean outlives,
        Optional<Supplier<List<Denied>>> refusals,
        Redaction redaction) {
    /**
     * Hands the result on, with what was refused: at once, or by a thread that may wait for the
     * gateway.
     */
    void complete(ExecResult result, Consumer<ExecResult> then) {
        if (refusals.isEmpty()) {
            then.accept(result);
        } else {
            Thread.ofVirtual()
                    .name("caisson-refusals")
                    .start(() -> then.accept(result.withDenied(refusals.get().get())));
        }
    }
}
