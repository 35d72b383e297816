package dev.caisson.store;

import dev.caisson.control.Kind;
import dev.caisson.control.Store;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Measures a store by hand: durable works a second, and how long a lone one takes. */
final class Throughput {
    private static final int LONE = 1000;
    private static final int MANY = 40_000;
    private static final int WRITERS = 128;

    private Throughput() {}

    /** The URL of an empty store, and its password if it has one. */
    public static void main(String[] arguments) throws InterruptedException {
        StoreConfig config = StoreConfig.of(arguments[0], "n1");
        StoreConfig full = arguments.length > 1 ? config.withPassword(arguments[1]) : config;
        try (Store store = Stores.open(full)) {
            AtomicInteger next = new AtomicInteger();
            many(store, next, MANY / 10); // warm
            lone(store, next);
            long begin = System.nanoTime();
            many(store, next, MANY);
            double seconds = (System.nanoTime() - begin) / 1e9;
            System.out.printf("%.0f durable works/s, %d writers%n", MANY / seconds, WRITERS);
        }
    }

    private static void lone(Store store, AtomicInteger next) {
        long[] micros = new long[LONE];
        for (int i = 0; i < LONE; i++) {
            long begin = System.nanoTime();
            insert(store, next.incrementAndGet());
            micros[i] = (System.nanoTime() - begin) / 1000;
        }
        Arrays.sort(micros);
        System.out.printf(
                "lone work: median %d us, 99%% %d us%n", micros[LONE / 2], micros[LONE * 99 / 100]);
    }

    private static void many(Store store, AtomicInteger next, int count)
            throws InterruptedException {
        CountDownLatch done = new CountDownLatch(WRITERS);
        for (int i = 0; i < WRITERS; i++) {
            Thread.ofVirtual()
                    .start(() -> {
                        for (int j = 0; j < count / WRITERS; j++) {
                            insert(store, next.incrementAndGet());
                        }
                        done.countDown();
                    });
        }
        done.await();
    }

    private static void insert(Store store, int number) {
        store.write(tx -> {
            tx.insert(Kind.SANDBOX, Things.row("t1", "sb" + number));
            return tx.append(Things.event("t1", "sandbox.created"));
        });
    }
}
