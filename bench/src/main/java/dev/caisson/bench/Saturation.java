package dev.caisson.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Raises the rate of execs until a server does not keep up, then asks for more than that, and at
 * last for little again.
 *
 * @param seconds length of each step
 * @param from first rate
 */
record Saturation(Service service, List<String> ids, int seconds, int from) {
    private static final double STEP = 1.25;
    private static final int STEPS = 12;
    private static final double KEPT_UP = 0.97;
    private static final double TOO_LATE_MILLIS = 1000;
    private static final double GOODPUT = 0.8;
    private static final double BEYOND = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration REST = Duration.ofSeconds(2);

    void measure(String name, Report report) {
        List<String> told = new ArrayList<>();
        double best = 0;
        double rate = from;
        for (int step = 0; step < STEPS; step++, rate *= STEP) {
            Outcome outcome = at(rate);
            told.add(
                    Numbers.text(Math.rint(rate))
                            + ": "
                            + Numbers.text(outcome.perSecond())
                            + " good, p99 "
                            + Numbers.text(outcome.millis(99)));
            best = Math.max(best, outcome.perSecond());
            if (outcome.good() < KEPT_UP * seconds * rate
                    || outcome.perSecond() < KEPT_UP * rate
                    || outcome.millis(99) > TOO_LATE_MILLIS) {
                break;
            }
        }
        report.row(
                Row.of(name + ".saturation", best, "1/s")
                        .withNote("most good answers; asked for " + String.join("; ", told)));
        beyond(name, best, report);
    }

    private void beyond(String name, double best, Report report) {
        Outcome outcome = at(BEYOND * best);
        report.row(
                Row.of(name + ".overload", outcome.perSecond(), "1/s")
                        .withPeer("at saturation", best)
                        .withTarget(Target.ratioAtLeast(GOODPUT))
                        .withNote(
                                "asked for "
                                        + Numbers.text(Math.rint(BEYOND * best))
                                        + " a second on at most "
                                        + Load.CONNECTIONS
                                        + " connections; good ones until the last; "
                                        + outcome.told()));
        Outcome after = at(from);
        report.row(
                Row.of(name + ".overload.after", after.millis(99), "ms p99")
                        .withNote(from + " a second after that; " + after.told()));
    }

    private Outcome at(double rate) {
        service.plan(ids, Load.Step.exec("{target}", "/bin/true"));
        try (Progress _ =
                Progress.show(
                        Numbers.text(Math.rint(rate)) + " execs a second",
                        Duration.ofSeconds(seconds))) {
            return Outcome.ofStep(
                    service.load()
                            .every(
                                    (int) (rate * seconds),
                                    Duration.ofNanos((long) (1e9 / rate)),
                                    PATIENCE),
                    0);
        } finally {
            Pace.rest(REST);
        }
    }
}
