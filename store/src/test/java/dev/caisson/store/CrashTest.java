package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.SQLiteConfig.SynchronousMode;

/** The program is killed, or the machine loses power, while it writes. */
@Timeout(value = 3, unit = TimeUnit.MINUTES) // a busy machine syncs slowly
class CrashTest {
    private static final int ROUNDS = 5;

    @TempDir Path folder;

    @Test
    void losesNothingWhenItsProgramIsKilled() throws Exception {
        Path file = folder.resolve("caisson.db");
        List<Integer> acknowledged = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            Child child = Child.start(file, 1 + round * 1_000_000, SynchronousMode.FULL);
            try (child) {
                child.await(20);
                Thread.sleep(ThreadLocalRandom.current().nextInt(20, 700));
            }
            acknowledged.addAll(child.acknowledged());

            try (Store store = Stores.open(StoreConfig.of("sqlite:" + file, "n1"))) {
                Ledger.verify(store, acknowledged);
            }
        }
        assertThat(acknowledged).hasSizeGreaterThan(ROUNDS * 20);
    }

    @Test
    void losesNothingWhenTheMachineLosesPower() throws Exception {
        assertThat(lostWithPower(SynchronousMode.FULL)).isZero();
    }

    /** The control: the test above would notice. */
    @Test
    void wouldLoseSomethingWithoutSyncing() throws Exception {
        assertThat(lostWithPower(SynchronousMode.OFF)).isPositive();
    }

    /**
     * Acknowledged rows that are missing on the disk as it is while the writer is stopped: what the
     * file system had not yet handed to its device is not in the copy of that.
     */
    private int lostWithPower(SynchronousMode synchronous) throws Exception {
        Path disk = folder.resolve("disk.img");
        Path copy = folder.resolve("copy.img");
        Path mounted = folder.resolve("mounted");
        Collection<Integer> acknowledged;
        makeDisk(disk);
        // Long intervals: nothing is written back on the kernel's own account meanwhile.
        Host.mount(mounted, "-o", "loop,commit=600", disk.toString());
        try {
            Child child = Child.start(mounted.resolve("caisson.db"), 1, synchronous);
            try (child) {
                child.await(200);
                Host.run(List.of("kill", "-STOP", Long.toString(child.pid())));
                Thread.sleep(300); // a sync that was under way ends
                acknowledged = child.acknowledged();
                Files.copy(disk, copy);
            }
        } finally {
            Host.unmount(mounted);
        }
        return lost(copy, folder.resolve("recovered"), acknowledged);
    }

    private static void makeDisk(Path disk) throws IOException, InterruptedException {
        Host.run(List.of("truncate", "--size=64M", disk.toString()));
        Host.run(List.of("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", disk.toString()));
    }

    private static int lost(Path copy, Path mounted, Collection<Integer> acknowledged)
            throws IOException, InterruptedException {
        Host.mount(mounted, "-o", "loop", copy.toString());
        try {
            StoreConfig config = StoreConfig.of("sqlite:" + mounted.resolve("caisson.db"), "n1");
            try (Store store = Stores.open(config)) {
                int missing = Ledger.missing(store, acknowledged).size();
                if (missing == 0) {
                    Ledger.verify(store, acknowledged);
                }
                return missing;
            }
        } finally {
            Host.unmount(mounted);
        }
    }
}
