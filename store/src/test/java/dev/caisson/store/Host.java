package dev.caisson.store;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Programs of the host: mount and its like. */
final class Host {
    private Host() {}

    static boolean root() throws IOException {
        return Files.getOwner(Path.of("/proc/self")).getName().equals("root");
    }

    /** Skips the test unless this can be mounted. */
    static void mount(Path target, String... arguments) throws IOException, InterruptedException {
        assumeTrue(root(), "needs root: it mounts a file system of its own");
        Files.createDirectories(target);
        List<String> command = new java.util.ArrayList<>(List.of("mount"));
        command.addAll(List.of(arguments));
        command.add(target.toString());
        assumeTrue(run(command), "needs to be allowed to mount: " + command);
    }

    /** Unmounts what a test mounted. */
    static void unmount(Path target) throws IOException, InterruptedException {
        for (int tries = 0; !run(List.of("umount", target.toString())); tries++) {
            if (tries > 20) {
                run(List.of("umount", "--lazy", target.toString()));
                return;
            }
            Thread.sleep(100);
        }
    }

    /** Whether it succeeded. */
    static boolean run(List<String> command) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start();
            return process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false; // there is no such program
        }
    }
}
