package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import java.time.Duration;

/**
 * How sessions behave.
 *
 * @param maxCalls tool calls of one session at once; 1 to 1000, default 32
 * @param shownBytes of each output stream that a result shows; default 32 KiB
 * @param progressEvery between notifications of progress; default 2 s
 * @param answerWithin how long a question to the user stays open; default 5 min
 */
public record SessionSettings(
        int maxCalls, int shownBytes, Duration progressEvery, Duration answerWithin) {

    private static final SessionSettings DEFAULTS =
            new SessionSettings(32, 32 << 10, Duration.ofSeconds(2), Duration.ofMinutes(5));

    /** The defaults named above. */
    public static SessionSettings defaults() {
        return DEFAULTS;
    }

    /** Refuses what makes no sense. */
    public SessionSettings {
        if (maxCalls < 1 || maxCalls > 1000) {
            throw CaissonException.invalid("maxCalls", "Calls at once are 1 to 1000.");
        }
        if (shownBytes < 1024 || shownBytes > 1 << 20) {
            throw CaissonException.invalid("shownBytes", "Shown output is 1 KiB to 1 MiB.");
        }
    }

    /** The same with another number of calls at once. */
    public SessionSettings withMaxCalls(int newMaxCalls) {
        return new SessionSettings(newMaxCalls, shownBytes, progressEvery, answerWithin);
    }

    /** The same with another size of shown output. */
    public SessionSettings withShownBytes(int newShownBytes) {
        return new SessionSettings(maxCalls, newShownBytes, progressEvery, answerWithin);
    }

    /** The same with another time between notifications of progress. */
    public SessionSettings withProgressEvery(Duration newProgressEvery) {
        return new SessionSettings(maxCalls, shownBytes, newProgressEvery, answerWithin);
    }

    /** The same with another time for answers of the user. */
    public SessionSettings withAnswerWithin(Duration newAnswerWithin) {
        return new SessionSettings(maxCalls, shownBytes, progressEvery, newAnswerWithin);
    }
}
