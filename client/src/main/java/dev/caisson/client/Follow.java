package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * Reads the items of a stream, and opens it again behind the last one where it breaks. One thread
 * runs it; any thread stops it.
 *
 * @param <T> an item
 */
final class Follow<T> {
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

    /** The request for what is behind a position; null: from the start. */
    @FunctionalInterface
    interface Source {
        Call after(@Nullable String position);
    }

    /** Takes an item; true when it is the last that is wanted. */
    @FunctionalInterface
    interface Taker<T> {
        boolean take(T item);
    }

    /** Thrown by a taker for an item that says that the stream is broken. */
    static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final CaissonException failure;

        Broken(CaissonException failure) {
            super(failure);
            this.failure = failure;
        }
    }

    /** What a taker threw, which is no failure of the stream. */
    private static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final RuntimeException thrown;

        Thrown(RuntimeException thrown) {
            super(thrown);
            this.thrown = thrown;
        }
    }

    /** How a stream may end. */
    enum End {
        /** With its last item; without it, it is broken. */
        LAST_ITEM,
        /** Anyhow. */
        ANYHOW,
        /** Never: it is opened again. */
        NEVER
    }

    private final Http http;
    private final Source source;
    private final Class<T> type;
    private final Function<T, @Nullable String> position;
    private final End end;
    private @Nullable String last;
    private volatile long heard = System.nanoTime();
    private volatile boolean stopped;
    private volatile @Nullable Answer current;

    /**
     * A stream.
     *
     * @param position of an item, to go on behind it; null: none
     */
    Follow(
            Http http,
            Source source,
            Class<T> type,
            Function<T, @Nullable String> position,
            End end) {
        this.http = http;
        this.source = source;
        this.type = type;
        this.position = position;
        this.end = end;
    }

    /** Ends {@link #run} soon; it then returns. */
    void stop() {
        stopped = true;
        Answer open = current;
        if (open != null) {
            open.close();
        }
    }

    /**
     * Runs to the last item.
     *
     * @param broken told each time the stream broke
     * @throws CaissonException what the server says, or that it cannot be reached for too long
     */
    void run(Taker<T> taker, Runnable broken) {
        int failures = 0;
        heard = System.nanoTime();
        while (!stopped) {
            @Nullable String before = last;
            CaissonException failure = pass(taker);
            if (failure == null || stopped) {
                return;
            }
            // Items that lead on count for the pause, signs of life for the patience.
            failures = last != null && !last.equals(before) ? 0 : failures + 1;
            if (!again(failure) || System.nanoTime() - heard > http.config().patience().toNanos()) {
                throw failure;
            }
            broken.run();
            Retry.sleep(pause(failures));
        }
    }

    /** Reads one answer to its end; null when that was the end of the stream. */
    private @Nullable CaissonException pass(Taker<T> taker) {
        try {
            return once(taker)
                    ? null
                    : Failures.broken(http.config().url(), new IOException("a stream ended early"));
        } catch (IOException e) {
            return Failures.broken(http.config().url(), e);
        } catch (CaissonException e) {
            return e;
        } catch (Broken e) {
            return e.failure;
        } catch (Thrown e) {
            throw e.thrown;
        }
    }

    private static boolean again(CaissonException failure) {
        return switch (failure.code()) {
            case ENGINE_FAILED, TIMEOUT, NO_CAPACITY, QUOTA_EXCEEDED -> true;
            default -> false;
        };
    }

    private static Duration pause(int failures) {
        Duration pause = FIRST_PAUSE.multipliedBy(1L << Math.min(failures, 6));
        return pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause;
    }

    /** Reads one answer to its end; true when the last item came. */
    private boolean once(Taker<T> taker) throws IOException {
        Call call = source.after(last).header("Accept", "application/x-ndjson");
        try (Answer answer = http.open(call)) {
            current = answer;
            if (stopped) {
                return true;
            }
            Lines lines = new Lines(answer.stream(), http.config().answerLimit().bytes());
            for (byte[] line = lines.next(); line != null; line = lines.next()) {
                heard = System.nanoTime();
                if (line.length > 0 && item(taker, parse(line))) {
                    return true;
                }
            }
            return end == End.ANYHOW;
        } catch (InterruptedIOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw Failures.cancelled();
            }
            throw e;
        } finally {
            current = null;
        }
    }

    private boolean item(Taker<T> taker, T item) {
        boolean wasLast = taken(taker, item);
        String at = position.apply(item);
        if (at != null && !at.isEmpty()) {
            last = at;
        }
        return wasLast;
    }

    private boolean taken(Taker<T> taker, T item) {
        try {
            return taker.take(item);
        } catch (Broken e) {
            throw e;
        } catch (RuntimeException e) {
            throw new Thrown(e);
        }
    }

    private T parse(byte[] line) {
        try {
            T item = Json.LENIENT.readValue(line, type);
            if (item == null) {
                throw Failures.malformed("null in a stream", null);
            }
            return item;
        } catch (JacksonException e) {
            throw Failures.malformed(String.valueOf(e.getOriginalMessage()), e);
        }
    }
}
