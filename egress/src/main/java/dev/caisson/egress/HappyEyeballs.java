package dev.caisson.egress;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Connects to the first of several addresses that answers (RFC 8305, without its finer points):
 * IPv6 first, the families in turn, the next one when the last failed or took a quarter of a
 * second.
 */
final class HappyEyeballs {
    private static final int TIMEOUT_MILLIS = 10_000;
    private static final long DELAY_MILLIS = 250;
    private static final int MAX_TRIED = 8;

    private final List<InetSocketAddress> addresses;
    private final LinkedBlockingQueue<Attempt> ended = new LinkedBlockingQueue<>();
    private final AtomicBoolean won = new AtomicBoolean();

    private HappyEyeballs(List<InetSocketAddress> addresses) {
        this.addresses = addresses;
    }

    /**
     * Who answered.
     *
     * @param index of the address
     */
    record Winner(Duplex duplex, int index) {}

    private record Attempt(@Nullable Winner winner, @Nullable IOException failure) {}

    static Winner connect(List<InetSocketAddress> addresses) throws IOException {
        if (addresses.size() == 1) {
            return new Winner(SocketDuplex.connect(addresses.getFirst(), TIMEOUT_MILLIS), 0);
        }
        return new HappyEyeballs(addresses).race();
    }

    private Winner race() throws IOException {
        List<Integer> order = order();
        IOException failure = new IOException("Nobody answered in time");
        int started = 0;
        int failed = 0;
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);
        while (failed < order.size()) {
            if (started < order.size()) {
                start(order.get(started++));
            }
            Attempt attempt = next(started < order.size(), end);
            if (attempt == null) {
                if (System.nanoTime() - end >= 0) {
                    break;
                }
            } else if (attempt.winner() != null) {
                return attempt.winner();
            } else if (attempt.failure() != null) {
                failure = attempt.failure();
                failed++;
            }
        }
        if (!won.compareAndSet(false, true)) {
            Attempt late = next(false, System.nanoTime() + TimeUnit.SECONDS.toNanos(1));
            if (late != null && late.winner() != null) {
                return late.winner();
            }
        }
        throw failure;
    }

    private @Nullable Attempt next(boolean more, long end) throws IOException {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        try {
            return ended.poll(
                    Math.max(0, more ? Math.min(left, DELAY_MILLIS) : left), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            won.set(true);
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
    }

    private void start(int index) {
        Thread.ofVirtual().name("egress-connect").start(() -> attempt(index));
    }

    private void attempt(int index) {
        try {
            Duplex duplex = SocketDuplex.connect(addresses.get(index), TIMEOUT_MILLIS);
            if (won.compareAndSet(false, true)) {
                ended.add(new Attempt(new Winner(duplex, index), null));
            } else {
                duplex.close();
            }
        } catch (IOException e) {
            ended.add(new Attempt(null, e));
        }
    }

    /** IPv6, IPv4, IPv6, … each family in the order that it came in. */
    private List<Integer> order() {
        List<Integer> six = family(true);
        List<Integer> four = family(false);
        List<int[]> ranked = new ArrayList<>();
        for (int i = 0; i < six.size(); i++) {
            ranked.add(new int[] {2 * i, six.get(i)});
        }
        for (int i = 0; i < four.size(); i++) {
            ranked.add(new int[] {2 * i + 1, four.get(i)});
        }
        ranked.sort(Comparator.comparingInt(pair -> pair[0]));
        return ranked.stream().limit(MAX_TRIED).map(pair -> pair[1]).toList();
    }

    private List<Integer> family(boolean six) {
        return IntStream.range(0, addresses.size())
                .filter(i -> addresses.get(i).getAddress() instanceof Inet6Address == six)
                .boxed()
                .toList();
    }
}
