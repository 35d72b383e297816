package dev.caisson.control;

import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What this server has done since it began, for metrics. Every word is of a closed list, and none
 * tells of a tenant or a sandbox. Thread-safe.
 */
public final class Counts {
    private final Map<String, LongAdder> creates = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> ends = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> execEnds = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> claims = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> refusals = new ConcurrentHashMap<>();
    private final LongAdder deadLetters = new LongAdder();
    private final Timings cold = new Timings();
    private final Timings pool = new Timings();
    private final Timings writes = new Timings();

    Counts() {}

    private static void count(Map<String, LongAdder> counts, String word) {
        counts.computeIfAbsent(word, any -> new LongAdder()).increment();
    }

    private static Map<String, Long> told(Map<String, LongAdder> counts) {
        Map<String, Long> told = new TreeMap<>();
        counts.forEach((word, count) -> told.put(word, count.sum()));
        return told;
    }

    // ---- counting

    /** A sandbox was asked for and made. */
    void made(boolean warm, long nanos) {
        count(creates, "made");
        (warm ? pool : cold).took(nanos);
    }

    /** A sandbox was asked for and not made. */
    void notMade(ErrorCode code) {
        count(creates, code.value());
    }

    void ended(EndReason reason) {
        count(ends, reason.value());
    }

    void execEnded(ExecReason reason) {
        count(execEnds, reason.value());
    }

    /** It could not be started. */
    void execFailed() {
        count(execEnds, "failed");
    }

    /** A pool fitted what was asked for. */
    void claimed(boolean ready) {
        count(claims, ready ? "ready" : "missed");
    }

    /**
     * A quota was used up.
     *
     * @param quota its name in the API
     */
    void refused(String quota) {
        count(refusals, quota);
    }

    void deadLetter() {
        deadLetters.increment();
    }

    /** A write is durable, or was refused. */
    void written(long nanos) {
        writes.took(nanos);
    }

    // ---- telling

    /** Sandboxes that were asked for, by {@code made} or the code of the error. */
    public Map<String, Long> creates() {
        return told(creates);
    }

    /** Time until one was made cold. */
    public Buckets coldCreates() {
        return cold.seen();
    }

    /** Time until a warm one was given out. */
    public Buckets poolCreates() {
        return pool.seen();
    }

    /** Sandboxes that ended, by reason. */
    public Map<String, Long> ends() {
        return told(ends);
    }

    /** Commands that ended, by reason; {@code failed}: could not be started. */
    public Map<String, Long> execEnds() {
        return told(execEnds);
    }

    /** Requests that a pool fitted: {@code ready}, or {@code missed} where none was warm. */
    public Map<String, Long> poolClaims() {
        return told(claims);
    }

    /** Refusals and cuts because of a quota, by its name. */
    public Map<String, Long> quotaRefusals() {
        return told(refusals);
    }

    /** Events that a webhook was given up for. */
    public long deadLetters() {
        return deadLetters.sum();
    }

    /** Time of writes to the store, with their wait. */
    public Buckets storeWrites() {
        return writes.seen();
    }
}
