package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One whole life after another, beside bubblewrap and runc with equivalent mounts. */
final class Cycle implements Measure {
    private static final String SELF = "caisson";
    private static final double AS_BWRAP = 1.0;

    @Override
    public String name() {
        return "cycle";
    }

    @Override
    public void run(Setting setting, Report report) {
        Optional<Path> bwrap = Shell.find("bwrap");
        Optional<Path> runc = Shell.find("runc");
        try (Caisson caisson = Caisson.open()) {
            setting.warmUp(caisson);
            Steps steps = new Steps(caisson);
            List<Peer> peers = new ArrayList<>();
            try {
                bwrap.ifPresent(program ->
                        peers.add(
                                Peer.start("bwrap", setting.pace(), Bubblewrap.command(program))));
                runc.ifPresent(program ->
                        peers.add(
                                Peer.start(
                                        "runc",
                                        setting.pace(),
                                        RuncBundle.in(setting.work()).command(program))));
                peers.forEach(peer -> peer.run(3, Duration.ZERO));
                Duel tight = new Duel(setting.times(12, 3), Duration.ZERO);
                measure(name(), tight, new int[] {30, 30, 8}, steps, peers, report);
                Duel paced = new Duel(setting.times(6, 1), Pace.SLOW);
                measure(name() + ".paced", paced, new int[] {20, 20, 10}, steps, peers, report);
            } finally {
                peers.forEach(Peer::close);
            }
        }
    }

    private static void measure(
            String name, Duel duel, int[] counts, Steps steps, List<Peer> peers, Report report) {
        steps.clear();
        List<Duel.Entry> entries = new ArrayList<>();
        entries.add(
                new Duel.Entry(
                        SELF,
                        counts[0],
                        (count, interval) -> Pace.run(count, interval, steps::once)));
        for (Peer peer : peers) {
            int count = peer.name().equals("bwrap") ? counts[1] : counts[2];
            entries.add(new Duel.Entry(peer.name(), count, peer::run));
        }
        Map<String, Samples> results = duel.fight(entries);
        Samples own = results.getOrDefault(SELF, new Samples());
        Row row =
                Row.of(name, own.medianMillis(), "ms")
                        .withNote(
                                steps.told()
                                        + "; p90 "
                                        + Numbers.text(own.percentileMillis(90))
                                        + " ms");
        beside(
                row,
                "bwrap",
                "bwrap --unshare-all",
                results,
                report,
                Optional.of(Target.ratioAtMost(AS_BWRAP)));
        Row again = Row.of(name + ".runc", own.medianMillis(), "ms");
        beside(again, "runc", "runc run", results, report, Optional.empty());
    }

    private static void beside(
            Row row,
            String peer,
            String label,
            Map<String, Samples> results,
            Report report,
            Optional<Target> target) {
        Samples samples = results.get(peer);
        if (samples == null) {
            report.row(
                    Row.skipped(
                            row.name(),
                            peer
                                    + " is not installed; caisson alone "
                                    + Numbers.text(row.value().orElse(Double.NaN))
                                    + " ms"));
            return;
        }
        Row compared = row.withPeer(label, samples.medianMillis());
        report.row(target.map(compared::withTarget).orElse(compared));
    }

    /** The steps of a life, timed one by one. */
    private static final class Steps {
        private final Caisson caisson;
        private Samples create = new Samples();
        private Samples exec = new Samples();
        private Samples destroy = new Samples();

        Steps(Caisson caisson) {
            this.caisson = caisson;
        }

        void clear() {
            create = new Samples();
            exec = new Samples();
            destroy = new Samples();
        }

        void once() {
            long start = System.nanoTime();
            Sandbox sandbox = caisson.create();
            long created = System.nanoTime();
            long ran;
            try (sandbox) {
                Life.execTrue(sandbox);
                ran = System.nanoTime();
            }
            long gone = System.nanoTime();
            create.add(created - start);
            exec.add(ran - created);
            destroy.add(gone - ran);
        }

        String told() {
            return "create "
                    + Numbers.text(create.medianMillis())
                    + " + exec "
                    + Numbers.text(exec.medianMillis())
                    + " + destroy "
                    + Numbers.text(destroy.medianMillis());
        }
    }
}
