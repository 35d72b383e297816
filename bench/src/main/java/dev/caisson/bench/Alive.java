package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.util.ArrayList;
import java.util.List;

/**
 * A hundred sandboxes that live at once: what each costs, and whether the last one starts as fast
 * as the first.
 */
final class Alive implements Measure {
    private static final int SANDBOXES = 100;
    private static final int AROUND = 5;
    private static final double MIB = 1048576;
    private static final double MIB_EACH = 2;
    private static final double SLOWER = 1.5;

    @Override
    public String name() {
        return "alive";
    }

    @Override
    public void run(Setting setting, Report report) {
        Samples first = new Samples();
        Samples last = new Samples();
        Samples bytesEach = new Samples();
        try (Caisson caisson = Caisson.open()) {
            setting.warmUp(caisson);
            for (int round = 0; round < setting.times(5, 1); round++) {
                HostMemory before = HostMemory.settled();
                List<Long> starts = new ArrayList<>();
                List<Sandbox> living = fill(caisson, starts);
                try {
                    bytesEach.add(
                            (HostMemory.settled().outsideJava() - before.outsideJava())
                                    / SANDBOXES);
                } finally {
                    living.forEach(Sandbox::close);
                }
                first.addAll(starts.subList(0, AROUND));
                last.addAll(starts.subList(SANDBOXES - AROUND, SANDBOXES));
            }
        }
        report.row(memory(bytesEach));
        report.row(
                Row.of(name() + ".start", last.medianMillis(), "ms")
                        .withPeer("the first " + AROUND, first.medianMillis())
                        .withTarget(Target.ratioAtMost(SLOWER))
                        .withNote(
                                "create and exec of number "
                                        + (SANDBOXES - AROUND + 1)
                                        + " to "
                                        + SANDBOXES));
    }

    private Row memory(Samples bytesEach) {
        double least = bytesEach.percentile(0) / MIB;
        if (least <= 0) {
            return Row.skipped(
                    name() + ".memory", "other work changed the machine's memory more than ours");
        }
        return Row.of(name() + ".memory", bytesEach.percentile(50) / MIB, "MiB")
                .withTarget(Target.valueAtMost(MIB_EACH))
                .withNote(
                        "each of "
                                + SANDBOXES
                                + ", without the JVM; between "
                                + Numbers.text(least)
                                + " and "
                                + Numbers.text(bytesEach.percentile(100) / MIB));
    }

    private static List<Sandbox> fill(Caisson caisson, List<Long> starts) {
        List<Sandbox> living = new ArrayList<>();
        try {
            for (int i = 0; i < SANDBOXES; i++) {
                long start = System.nanoTime();
                Sandbox sandbox = caisson.create();
                living.add(sandbox);
                Life.execTrue(sandbox);
                starts.add(System.nanoTime() - start);
            }
            return living;
        } catch (RuntimeException e) {
            living.forEach(Sandbox::close);
            throw e;
        }
    }
}
