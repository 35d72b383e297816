package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Optional;

/** Answers that are replayed for an {@code Idempotency-Key}; kept for 24 hours. */
public interface Idempotency {
    /**
     * Begins a request, or finds its answer.
     *
     * @param route method and route, not path
     * @param bodyHash of the body
     * @return the answer when it is known; empty: do it, then {@link #complete} or {@link #abandon}
     * @throws CaissonException {@link ErrorCode#IDEMPOTENCY_MISMATCH} for another body, {@link
     *     ErrorCode#CONFLICT} while it is still running
     */
    Optional<Answer> begin(Caller caller, String route, String key, String bodyHash);

    /** Keeps the answer; durable when this returns. */
    void complete(Caller caller, String route, String key, Answer answer);

    /** The request failed in a way that may be tried again. */
    void abandon(Caller caller, String route, String key);

    /** A stored answer; a body that holds a secret is never stored and the replay says so. */
    record Answer(int status, String body) {}
}
