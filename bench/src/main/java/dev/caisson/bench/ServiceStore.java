package dev.caisson.bench;

import dev.caisson.control.Kind;
import dev.caisson.control.Store;
import dev.caisson.store.StoreConfig;
import dev.caisson.store.Stores;
import dev.caisson.v1.ActorJson;
import dev.caisson.v1.EventJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Durable works of the store (a row and an event in one commit), alone and from many at once,
 * beside a write and fsync of 4 KiB in the same folder.
 */
final class ServiceStore implements Measure {
    private static final String STORE = "store";
    private static final String FSYNC = "write and fsync of 4 KiB";
    private static final int WRITERS = 128;
    private static final int PAGE = 4096;

    @Override
    public String name() {
        return "service.store";
    }

    @Override
    public void run(Setting setting, Report report) {
        Path folder = Service.folder(setting, name());
        try {
            measure(
                    name() + ".sqlite",
                    setting,
                    StoreConfig.of("sqlite:" + folder.resolve("bench.db"), "bench"),
                    folder,
                    report);
            if (PostgresServer.programs().isEmpty()) {
                report.row(
                        Row.skipped(
                                name() + ".postgresql", "Debian's postgresql is not installed"));
                return;
            }
            try (PostgresServer postgres = PostgresServer.start(folder.resolve("postgres"))) {
                measure(
                        name() + ".postgresql",
                        setting,
                        StoreConfig.of(postgres.url(), "bench"),
                        folder,
                        report);
            }
        } finally {
            Shell.run("sh", "-c", "rm -rf --one-file-system " + folder + "/*");
        }
    }

    private static void measure(
            String name, Setting setting, StoreConfig config, Path folder, Report report) {
        try (Store store = Stores.open(config);
                FileChannel file =
                        FileChannel.open(
                                folder.resolve("fsync"),
                                StandardOpenOption.CREATE,
                                StandardOpenOption.WRITE)) {
            Writers writers = new Writers(store);
            writers.many(setting.times(4000, 512));
            Map<String, Samples> results =
                    new Duel(setting.times(10, 2), Duration.ZERO)
                            .fight(
                                    List.of(
                                            new Duel.Entry(STORE, 100, writers::lone),
                                            new Duel.Entry(
                                                    FSYNC,
                                                    100,
                                                    (count, interval) ->
                                                            Pace.run(
                                                                    count,
                                                                    interval,
                                                                    () -> sync(file)))));
            Samples lone = results.getOrDefault(STORE, new Samples());
            report.row(
                    Row.of(name, lone.medianMillis(), "ms")
                            .withPeer(
                                    FSYNC,
                                    results.getOrDefault(FSYNC, new Samples()).medianMillis())
                            .withNote(
                                    "a lone commit; p99 "
                                            + Numbers.text(lone.percentileMillis(99))));
            int works = setting.times(40_000, 2560);
            long start = System.nanoTime();
            writers.many(works);
            report.row(
                    Row.of(name + ".many", works * 1e9 / (System.nanoTime() - start), "1/s")
                            .withNote("durable works of " + WRITERS + " writers at once"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void sync(FileChannel file) {
        try {
            file.write(ByteBuffer.allocate(PAGE));
            file.force(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes rows with numbers of their own. */
    private static final class Writers {
        private final Store store;
        private final AtomicInteger next = new AtomicInteger();

        Writers(Store store) {
            this.store = store;
        }

        List<Long> lone(int count, Duration interval) {
            return new ArrayList<>(Pace.run(count, interval, this::insert));
        }

        void many(int count) {
            CountDownLatch done = new CountDownLatch(WRITERS);
            AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
            for (int i = 0; i < WRITERS; i++) {
                Thread.ofVirtual()
                        .name("bench-writer-", i)
                        .start(() -> {
                            try {
                                for (int j = 0; j < count / WRITERS; j++) {
                                    insert();
                                }
                            } catch (RuntimeException e) {
                                failure.compareAndSet(null, e);
                            } finally {
                                done.countDown();
                            }
                        });
            }
            try {
                done.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("Interrupted.", e);
            }
            RuntimeException cause = failure.get();
            if (cause != null) {
                throw new IllegalStateException("A work failed: " + cause.getMessage(), cause);
            }
        }

        private void insert() {
            String id = "sbbench" + next.incrementAndGet();
            Instant now = Instant.now();
            store.write(tx -> {
                tx.insert(
                        Kind.SANDBOX,
                        new dev.caisson.control.Row(
                                id, "tnbench", null, null, "running", null, now, null, Map.of(), 1,
                                "{}"));
                return tx.append(event(id, now));
            });
        }

        private static EventJson event(String id, Instant now) {
            return new EventJson(
                    "ev" + id,
                    0,
                    now,
                    "sandbox.created",
                    "tnbench",
                    id,
                    null,
                    null,
                    null,
                    new ActorJson(null, "bench", Map.of()),
                    null,
                    null,
                    "",
                    Map.of());
        }
    }
}
