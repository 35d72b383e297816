package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.time.Duration;

/** Decides whether a call that failed is sent again, and waits. */
final class Retry {
    /** So often is a call sent. */
    static final int ATTEMPTS = 4;

    /** A server that wants a longer pause is told to the caller. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(15);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(200);

    private Retry() {}

    /**
     * How a call failed.
     *
     * @param answered whether the server said that it did not do it
     * @param pause what the server asked for; negative: nothing
     */
    record Outcome(CaissonException failure, boolean answered, boolean temporary, long pause) {

        static Outcome broken(CaissonException failure) {
            return new Outcome(failure, false, failure.code() != ErrorCode.CANCELLED, -1);
        }

        static Outcome refused(CaissonException failure, int status, String retryAfter) {
            boolean temporary =
                    status == 429
                            || status == 503
                            || (status == 409 && failure.code() == ErrorCode.CONFLICT);
            return new Outcome(
                    failure, true, temporary && failure.retryable(), seconds(retryAfter));
        }

        /** The form in seconds only: a date would need the server's clock. */
        private static long seconds(String retryAfter) {
            return retryAfter.matches("[0-9]{1,9}") ? Long.parseLong(retryAfter) : -1;
        }
    }

    /** Returns when the call may be sent again, and throws when it may not. */
    static void pause(Call.Again again, Outcome outcome, int attempt) {
        boolean allowed =
                switch (again) {
                    case ALWAYS -> true;
                    case WHEN_REFUSED -> outcome.answered();
                    case NEVER -> false;
                };
        Duration pause =
                outcome.pause() >= 0
                        ? Duration.ofSeconds(outcome.pause())
                        : FIRST_PAUSE.multipliedBy(1L << (attempt - 1));
        if (!allowed
                || !outcome.temporary()
                || attempt >= ATTEMPTS
                || pause.compareTo(LONGEST_PAUSE) > 0) {
            throw outcome.failure();
        }
        sleep(pause);
    }

    /** Waits; an interrupt is {@link ErrorCode#CANCELLED}. */
    static void sleep(Duration pause) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failures.cancelled();
        }
    }
}
