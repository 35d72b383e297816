package dev.caisson.egress;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * So much per time, and as much at once as comes in one period. Safe for use by several threads.
 */
final class TokenBucket {
    private final LongSupplier nanoTime;
    // Guarded by this.
    private double perNano;
    private double most;
    private double tokens;
    private long last;

    /**
     * A full bucket.
     *
     * @param count in each period
     * @param period in nanoseconds
     */
    TokenBucket(long count, long period, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        last = nanoTime.getAsLong();
        rate(count, period);
        tokens = most;
    }

    static TokenBucket perSecond(long count) {
        return new TokenBucket(count, TimeUnit.SECONDS.toNanos(1), System::nanoTime);
    }

    static TokenBucket perMinute(long count) {
        return new TokenBucket(count, TimeUnit.MINUTES.toNanos(1), System::nanoTime);
    }

    /** Another rate; what is in the bucket stays, as far as it fits. */
    synchronized void rate(long count, long period) {
        perNano = (double) count / period;
        most = count;
        tokens = Math.min(tokens, most);
    }

    /** Takes one when there is one. */
    boolean tryTake() {
        return tryTake(1);
    }

    /** Takes so many when there are as many. */
    synchronized boolean tryTake(long count) {
        refill();
        if (tokens < count) {
            return false;
        }
        tokens -= count;
        return true;
    }

    /** Takes them, on credit if need be, and says how many nanoseconds to wait for that. */
    synchronized long take(long count) {
        refill();
        tokens -= count;
        return tokens >= 0 || perNano == 0 ? 0 : (long) (-tokens / perNano);
    }

    private void refill() {
        long now = nanoTime.getAsLong();
        tokens = Math.min(most, tokens + (now - last) * perNano);
        last = now;
    }
}
