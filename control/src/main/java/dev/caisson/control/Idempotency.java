package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Answers that are replayed for an {@code Idempotency-Key}; kept for 24 hours. */
public interface Idempotency {
    /**
     * Begins a request, or finds its answer.
     *
     * @param route method and route, not path
     * @param bodyHash of the body
     * @return the answer when it is known, or what was made where its answer was lost; empty: do it
     *     {@link #during} this, then {@link #complete}, {@link #abandon} or {@link #leave}
     * @throws CaissonException {@link ErrorCode#IDEMPOTENCY_MISMATCH} for another body, {@link
     *     ErrorCode#CONFLICT} while it is still running
     */
    Optional<Answer> begin(Caller caller, String route, String key, String bodyHash);

    /** Keeps the answer; durable when this returns. */
    void complete(Caller caller, String route, String key, Answer answer);

    /** The request failed in a way that may be tried again. */
    void abandon(Caller caller, String route, String key);

    /**
     * The request was done and its answer could not be kept: who asks again gets what it has made,
     * where that is a sandbox, a run or an exec.
     */
    void leave(Caller caller, String route, String key);

    /** Does what was begun; a sandbox, run or exec is noted in the transaction that makes it. */
    <T, X extends Exception> T during(
            Caller caller, String route, String key, ScopedValue.CallableOp<T, X> work) throws X;

    /**
     * A stored answer; a body that holds a secret is never stored and the replay says so.
     *
     * @param status of the answer; 0: only what was made is known
     * @param body of the answer
     * @param headers of the answer that belong to what was made
     * @param made id of the sandbox, run or exec of an answer that was lost; null: it is here
     */
    record Answer(int status, String body, Map<String, String> headers, @Nullable String made) {
        /** Copies the headers. */
        public Answer {
            headers = Map.copyOf(headers);
        }

        /** An answer without headers. */
        public Answer(int status, String body) {
            this(status, body, Map.of(), null);
        }

        /** Only what was made is known. */
        public static Answer ofMade(String id) {
            return new Answer(0, "", Map.of(), id);
        }
    }
}
