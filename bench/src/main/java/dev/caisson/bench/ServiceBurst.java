package dev.caisson.bench;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Many creates at once, each followed by {@code node -v}, beside as many bare ones at once. */
final class ServiceBurst implements Measure {
    private static final int BURST = 100;
    private static final int SMALL_POOL = 10;
    private static final double FROM_POOL = 1.6;
    private static final double FROM_COLD = 3;

    @Override
    public String name() {
        return "service.burst";
    }

    @Override
    public void run(Setting setting, Report report) {
        Optional<Path> node = Shell.find("node");
        if (node.isEmpty()) {
            report.row(Row.skipped(name(), "node is not installed"));
            return;
        }
        int count = setting.times(BURST, 20);
        Service.measure(
                name(),
                setting,
                report,
                service -> {
                    service.warmUp(setting);
                    try (Peer peer =
                            Peer.start(
                                    "bare node -v at once",
                                    setting.pace(),
                                    List.of(node.get().toString(), "-v"))) {
                        new Rounds(service, peer, count).run(setting.times(9, 2), report, name());
                    }
                });
    }

    /** Takes turns: bare, full pool, small pool, cold. */
    private static final class Rounds {
        private final Service service;
        private final Peer peer;
        private final int count;
        private final Samples bare = new Samples();
        private final Samples full = new Samples();
        private final Samples small = new Samples();
        private final Samples cold = new Samples();
        private int failed;

        Rounds(Service service, Peer peer, int count) {
            this.service = service;
            this.peer = peer;
            this.count = count;
        }

        void run(int rounds, Report report, String name) {
            String fullPool = service.pool("bench-full", count);
            String smallPool = service.pool("bench-small", SMALL_POOL);
            // Once for nothing: the page cache, the server's threads.
            for (int i = -1; i < rounds; i++) {
                if (i == 0) {
                    List.of(bare, full, small, cold).forEach(Samples::clear);
                    failed = 0;
                }
                bare.add(peer.run(count, Peer.AT_ONCE).getLast());
                rest();
                full.add(burst("bench-full"));
                service.awaitPool(fullPool);
                rest();
                small.add(burst("bench-small"));
                service.awaitPool(smallPool);
                rest();
                cold.add(burst("none"));
                rest();
            }
            report.row(row(name, full, "pool of " + count).withTarget(target(FROM_POOL)));
            report.row(row(name + ".ten", small, "pool of " + SMALL_POOL));
            report.row(row(name + ".cold", cold, "no pool").withTarget(target(FROM_COLD)));
            service.api().delete("/v1/pools/" + fullPool);
            service.api().delete("/v1/pools/" + smallPool);
        }

        private static void rest() {
            Pace.rest(Duration.ofMillis(500));
        }

        /** A burst with a failure meets nothing. */
        private Target target(double ratio) {
            return Target.ratioAtMost(failed == 0 ? ratio : 0);
        }

        private Row row(String name, Samples samples, String what) {
            return Row.of(name, samples.medianMillis(), "ms")
                    .withPeer(peer.name(), bare.medianMillis())
                    .withNote(
                            count
                                    + " creates and execs at once until the last has ended, "
                                    + what
                                    + "; worst of "
                                    + samples.count()
                                    + ": "
                                    + Numbers.text(samples.percentileMillis(100))
                                    + (failed == 0 ? "" : "; " + failed + " FAILED"));
        }

        private long burst(String pool) {
            service.plan(List.of(), Load.Step.create(pool), Load.Step.exec("{id}", "node", "-v"));
            List<Load.Chain> chains = service.load().atOnce(count, count);
            failed += (int) chains.stream().filter(chain -> !chain.good(2)).count();
            service.delete(Service.ids(chains));
            return chains.stream().mapToLong(Load.Chain::end).max().orElseThrow();
        }
    }
}
