package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * A file on its way into a sandbox and out again, beside two {@code cat} and a pipe on the host.
 * Neither calls fsync, or both do.
 */
final class Copy implements Measure {
    private static final String INSIDE = "/work/big";
    private static final String PEER = "cat FILE | cat > COPY";
    private static final double HALF = 0.5;

    @Override
    public String name() {
        return "copy";
    }

    @Override
    public void run(Setting setting, Report report) {
        int mib = setting.times(256, 64);
        Path file = setting.work().resolve("big");
        Path copy = setting.work().resolve("copy");
        fill(file, mib);
        int rounds = setting.times(9, 3);
        try (Caisson caisson = Caisson.open();
                Sandbox sandbox = caisson.create()) {
            Case in =
                    new Case(
                            mib,
                            rounds,
                            () -> sandbox.files().put(file, INSIDE),
                            () -> inside(sandbox, "sync", INSIDE),
                            () -> sandbox.files().remove(INSIDE));
            Case out =
                    new Case(
                            mib,
                            rounds,
                            () -> sandbox.files().get(INSIDE, copy),
                            () -> Shell.run("sync", copy.toString()),
                            () -> delete(copy));
            Peer peer = Peer.start(PEER, setting.pace(), cat(file, copy, false));
            Peer synced = Peer.start(PEER + ", fsync", setting.pace(), cat(file, copy, true));
            try (peer;
                    synced) {
                report.row(
                        in.beside(peer, copy, false, name() + ".in")
                                .withTarget(Target.ratioAtLeast(HALF)));
                report.row(in.beside(synced, copy, true, name() + ".in.fsync"));
                sandbox.files().put(file, INSIDE);
                report.row(
                        out.beside(peer, copy, false, name() + ".out")
                                .withTarget(Target.ratioAtLeast(HALF)));
                report.row(out.beside(synced, copy, true, name() + ".out.fsync"));
            }
        } finally {
            delete(file);
        }
    }

    private static List<String> cat(Path file, Path copy, boolean fsync) {
        String line = "cat " + file + " | cat > " + copy;
        return List.of("/bin/sh", "-c", fsync ? line + " && sync " + copy : line);
    }

    private static void inside(Sandbox sandbox, String... argv) {
        if (sandbox.exec(argv).exitCode().orElse(-1) != 0) {
            throw new IllegalStateException(String.join(" ", argv) + " failed inside.");
        }
    }

    private static void fill(Path file, int mib) {
        byte[] block = new byte[1 << 20];
        Random random = new Random(1);
        try (OutputStream out = Files.newOutputStream(file)) {
            for (int i = 0; i < mib; i++) {
                random.nextBytes(block);
                out.write(block);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Shell.run("sync", file.toString());
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * One direction.
     *
     * @param move copies the file
     * @param fsync makes the copy durable
     * @param remove removes the copy, so that nothing of it is left to be written
     */
    private record Case(int mib, int rounds, Runnable move, Runnable fsync, Runnable remove) {

        Row beside(Peer peer, Path peerCopy, boolean durable, String name) {
            Runnable body =
                    durable
                            ? () -> {
                                move.run();
                                fsync.run();
                            }
                            : move;
            Samples own = new Samples();
            Samples other = new Samples();
            for (int i = 0; i < rounds + 1; i++) {
                List<Long> mine = Pace.run(1, Duration.ZERO, body);
                remove.run();
                List<Long> others = peer.run(1, Duration.ZERO);
                delete(peerCopy);
                if (i > 0) { // The first one warms.
                    own.addAll(mine);
                    other.addAll(others);
                }
            }
            return Row.of(name, rate(own), "MiB/s")
                    .withPeer(peer.name(), rate(other))
                    .withNote(mib + " MiB");
        }

        private double rate(Samples samples) {
            return mib / (samples.medianMillis() / 1e3);
        }
    }
}
