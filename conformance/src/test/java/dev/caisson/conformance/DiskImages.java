package dev.caisson.conformance;

import java.nio.file.Path;
import java.util.List;

/** The loop devices that hold the disks of this suite's sandboxes, as the host sees them. */
final class DiskImages {
    private static final long SECTOR = 512;
    private static final int SECTORS_WRITTEN = 6;

    private DiskImages() {}

    /**
     * Whether one of the suite's own state folder has that size, which is all that the host can
     * lose to it.
     */
    static boolean ofSize(long bytes) {
        return devices().stream()
                .filter(device -> isOf(Lab.stateFolder(), device))
                .anyMatch(device ->
                        HostView.number(device.resolve("size")).orElse(0L) * SECTOR == bytes);
    }

    /** How many there are of the launchers with that state folder. */
    static long count(Path state) {
        return devices().stream().filter(device -> isOf(state, device)).count();
    }

    /** Bytes that went through any loop device to a file of this host since it started. */
    static long written() {
        return devices().stream()
                .map(device ->
                        HostView.text(device.resolve("stat")).orElse("").strip().split("\\s+"))
                .filter(told -> told.length > SECTORS_WRITTEN)
                .mapToLong(told -> Long.parseLong(told[SECTORS_WRITTEN]) * SECTOR)
                .sum();
    }

    private static List<Path> devices() {
        return HostView.entries(Path.of("/sys/block")).stream()
                .filter(device -> device.getFileName().toString().startsWith("loop"))
                .toList();
    }

    private static boolean isOf(Path state, Path device) {
        return HostView.text(device.resolve("loop/backing_file"))
                .filter(file -> file.startsWith(state + "/"))
                .isPresent();
    }
}
