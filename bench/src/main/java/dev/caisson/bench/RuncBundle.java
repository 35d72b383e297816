package dev.caisson.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A minimal OCI bundle over the host's /usr, with the namespaces and limits of a sandbox; {@code
 * peers/runc.json} is its configuration.
 *
 * @param folder holds config.json and rootfs
 */
record RuncBundle(Path folder) {

    /** Writes the bundle below a folder. */
    static RuncBundle in(Path work) {
        Path folder = work.resolve("runc");
        Path root = folder.resolve("rootfs");
        try {
            for (String mountPoint : List.of("proc", "dev", "usr", "etc", "tmp", "work")) {
                Files.createDirectories(root.resolve(mountPoint));
            }
            for (String link : List.of("bin", "sbin", "lib", "lib64")) {
                Files.createSymbolicLink(root.resolve(link), Path.of("usr", link));
            }
            Files.copy(
                    Path.of(System.getProperty("caisson.bench.peers"), "runc.json"),
                    folder.resolve("config.json"));
            return new RuncBundle(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs it once, {@code /bin/true}, and removes the container. */
    List<String> command(Path program) {
        return List.of(
                program.toString(),
                "--root",
                folder.resolve("state").toString(),
                "run",
                "--bundle",
                folder.toString(),
                "caisson-bench");
    }
}
