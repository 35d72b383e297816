package dev.caisson.bench;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What came of many chains: how many went well, and how long one of their steps took. */
final class Outcome {
    private final Samples times = new Samples();
    private final Map<Integer, Integer> statuses = new TreeMap<>();
    private final int count;
    private long lastEnd;

    private Outcome(int count) {
        this.count = count;
    }

    /** The times of step {@code index} where it went well, its statuses everywhere. */
    static Outcome ofStep(List<Load.Chain> chains, int index) {
        Outcome outcome = new Outcome(chains.size());
        for (Load.Chain chain : chains) {
            Load.Took took = chain.step(index);
            outcome.statuses.merge(took.status(), 1, Integer::sum);
            if (took.good()) {
                outcome.times.add(took.total());
                outcome.lastEnd = Math.max(outcome.lastEnd, chain.end());
            }
        }
        return outcome;
    }

    /** Times of all that went well. */
    Samples times() {
        return times;
    }

    int good() {
        return times.count();
    }

    int bad() {
        return count - times.count();
    }

    /** Good answers a second, from the begin to the last of them. */
    double perSecond() {
        return lastEnd == 0 ? 0 : good() * 1e9 / lastEnd;
    }

    /** A percentile in milliseconds; infinite when nothing went well. */
    double millis(int percent) {
        return good() == 0 ? Double.POSITIVE_INFINITY : times.percentileMillis(percent);
    }

    /** The same as text. */
    String told() {
        return "p50 "
                + Numbers.text(millis(50))
                + ", p99 "
                + Numbers.text(millis(99))
                + ", most "
                + Numbers.text(millis(100))
                + " ms; "
                + statuses();
    }

    /** How often each status came, for example {@code 200: 9, 429: 1}. */
    String statuses() {
        StringBuilder text = new StringBuilder();
        statuses.forEach((status, times) ->
                text.append(text.isEmpty() ? "" : ", ")
                        .append(status == 0 ? "no answer" : status.toString())
                        .append(": ")
                        .append(times));
        return text.toString();
    }

    /**
     * This one.
     *
     * @throws IllegalStateException when anything went wrong
     */
    Outcome orThrow(String what) {
        if (bad() > 0) {
            throw new IllegalStateException(what + ": not all were answered well: " + statuses());
        }
        return this;
    }
}
