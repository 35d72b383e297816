package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * {@code /bin/true} in a sandbox that lives, beside fork, execve and waitpid from C on the host.
 */
final class Execs implements Measure {
    private static final String SELF = "caisson";
    private static final String PEER = "fork+exec from C";
    private static final double AS_FORK = 2.0;

    @Override
    public String name() {
        return "exec";
    }

    @Override
    public void run(Setting setting, Report report) {
        try (Caisson caisson = Caisson.open();
                Sandbox sandbox = caisson.create();
                Peer peer = Peer.start(PEER, setting.pace(), List.of("/bin/true"))) {
            Pace.run(setting.times(3000, 200), Duration.ZERO, () -> Life.execTrue(sandbox));
            peer.run(50, Duration.ZERO);
            measure(
                    name(),
                    new Duel(setting.times(20, 3), Duration.ZERO),
                    100,
                    sandbox,
                    peer,
                    report);
            measure(
                    name() + ".paced",
                    new Duel(setting.times(8, 1), Pace.SLOW),
                    20,
                    sandbox,
                    peer,
                    report);
        }
    }

    private static void measure(
            String name, Duel duel, int count, Sandbox sandbox, Peer peer, Report report) {
        Runnable body = () -> Life.execTrue(sandbox);
        CpuMeter cpu = new CpuMeter();
        Map<String, Samples> results =
                duel.fight(
                        List.of(
                                new Duel.Entry(
                                        SELF,
                                        count,
                                        (times, interval) -> Pace.run(times, interval, body)),
                                new Duel.Entry(PEER, count, peer::run)));
        CpuMeter.Usage used = cpu.used();
        Samples own = results.getOrDefault(SELF, new Samples());
        Samples other = results.getOrDefault(PEER, new Samples());
        report.row(
                Row.of(name, own.medianMillis(), "ms")
                        .withPeer(PEER, other.medianMillis())
                        .withTarget(Target.ratioAtMost(AS_FORK))
                        .withNote(
                                "p90 "
                                        + Numbers.text(own.percentileMillis(90))
                                        + " ms; "
                                        + used.perCycle(own.count())));
    }
}
