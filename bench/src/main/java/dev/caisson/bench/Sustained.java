package dev.caisson.bench;

import dev.caisson.api.Caisson;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Thousands of whole lives, several at once, with every default limit. The time of what is left to
 * do at the end counts.
 */
final class Sustained implements Measure {
    private static final int IN_FLIGHT = Integer.getInteger("caisson.bench.inflight", 3);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final double PER_SECOND = 150;
    private static final double FLAT = 0.9;

    @Override
    public String name() {
        return "sustained";
    }

    @Override
    public void run(Setting setting, Report report) {
        int cycles = setting.times(5000, 300);
        Background background = new Background(Main.stateFolder(setting.work()));
        List<Path> folders = List.of(setting.work(), Path.of("/run/caisson"));
        Caisson.open().close();
        Census outside = Census.take(folders);
        Census before;
        Crowd crowd;
        List<String> leaks;
        try (Caisson caisson = Caisson.open()) {
            // As many at once as later, so that this JVM has all its threads and descriptors.
            Crowd warming = new Crowd(caisson, setting.times(600, 60));
            int disks = settled(background, warming.run());
            before = Census.take(folders);
            CpuMeter cpu = new CpuMeter();
            long start = System.nanoTime();
            crowd = new Crowd(caisson, cycles);
            Set<String> ids = crowd.run();
            long lives = System.nanoTime();
            boolean clear = background.await(disks, ids, PATIENCE);
            long end = System.nanoTime();
            CpuMeter.Usage used = cpu.used();
            String rest =
                    "background work after the last "
                            + Numbers.text((end - lives) / 1e6)
                            + " ms"
                            + (clear ? "" : " and NOT done");
            report.row(
                    Row.of(name(), cycles * 1e9 / (end - start), "1/s")
                            .withTarget(Target.valueAtLeast(PER_SECOND))
                            .withNote(cycles + " lives, " + IN_FLIGHT + " in flight, " + rest));
            report.row(crowd.flatness());
            report.row(
                    Row.of(name() + ".cpu", used.caisson() / cycles, "ms")
                            .withNote(
                                    used.perCycle(cycles)
                                            + "; whole host "
                                            + Numbers.text(used.host() / cycles)));
            leaks = Leaks.since(before, folders, PATIENCE);
        }
        Leaks.since(outside, folders, PATIENCE)
                .forEach(change -> leaks.add("after close: " + change));
        report.row(Leaks.row(name() + ".census", leaks, before));
    }

    /** Waits until nothing changes any more; the number of disks then. */
    private static int settled(Background background, Set<String> ids) {
        int disks = -1;
        for (int same = 0; same < 10; ) {
            Pace.rest(Duration.ofMillis(100));
            int now = background.disks();
            same = now == disks && background.await(now, ids, Duration.ZERO) ? same + 1 : 0;
            disks = now;
        }
        return disks;
    }

    /** Threads that share a number of lives. */
    private static final class Crowd {
        private final Caisson caisson;
        private final int cycles;
        private final AtomicInteger left;
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        private final ReentrantLock lock = new ReentrantLock();
        private final Set<String> ids = new HashSet<>(); // guarded by lock
        private final List<Long> ends = new ArrayList<>(); // guarded by lock

        Crowd(Caisson caisson, int cycles) {
            this.caisson = caisson;
            this.cycles = cycles;
            this.left = new AtomicInteger(cycles);
        }

        /** Runs them all; the ids of the sandboxes. */
        Set<String> run() {
            CountDownLatch done = new CountDownLatch(IN_FLIGHT);
            for (int i = 0; i < IN_FLIGHT; i++) {
                Thread.ofPlatform().name("bench-life-" + i).start(() -> work(done));
            }
            try {
                done.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("Interrupted.", e);
            }
            Throwable cause = failure.get();
            if (cause != null) {
                throw new IllegalStateException("A life failed: " + cause.getMessage(), cause);
            }
            return ids;
        }

        private void work(CountDownLatch done) {
            try {
                while (left.getAndDecrement() > 0 && failure.get() == null) {
                    String id = Life.once(caisson);
                    lock.lock();
                    try {
                        ids.add(id);
                        ends.add(System.nanoTime());
                    } finally {
                        lock.unlock();
                    }
                }
            } catch (RuntimeException e) {
                failure.compareAndSet(null, e);
            } finally {
                done.countDown();
            }
        }

        /** The rate of the last fifth over the rate of the first. */
        Row flatness() {
            int fifth = cycles / 5;
            double first = fifth * 1e9 / (ends.get(fifth) - ends.getFirst());
            double last = fifth * 1e9 / (ends.getLast() - ends.get(cycles - 1 - fifth));
            return Row.of("sustained.flat", last, "1/s")
                    .withPeer("the first " + fifth, first)
                    .withTarget(Target.ratioAtLeast(FLAT))
                    .withNote("rate of the last " + fifth);
        }
    }
}
