package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Creation over HTTP, from a warm pool and cold, beside the same in-process; then at a rate. */
final class ServiceCreate implements Measure {
    private static final String WARM = "warm";
    private static final String COLD = "cold";
    private static final String INSIDE = "in-process";
    private static final double WARM_MILLIS = 2;
    private static final double COLD_MILLIS = 10;
    private static final double STEADY_MILLIS = 25;
    private static final int STEADY_POOL = 20;
    private static final int PER_SECOND = 50;

    @Override
    public String name() {
        return "service.create";
    }

    @Override
    public void run(Setting setting, Report report) {
        Service.measure(
                name(),
                setting,
                report,
                service -> {
                    service.warmUp(setting);
                    pools(setting, service, report);
                    steady(setting, service, report);
                });
    }

    private void pools(Setting setting, Service service, Report report) {
        int each = setting.times(30, 10);
        String pool = service.pool("bench-warm", each + 10);
        try (Caisson caisson = Caisson.open()) {
            setting.warmUp(caisson);
            Duel.Contestant warm =
                    (count, interval) -> {
                        List<Long> times = create(service, "bench-warm", count);
                        service.awaitPool(pool);
                        return times;
                    };
            Duel.Contestant inside = (count, interval) -> createInside(caisson, count);
            Map<String, Samples> results =
                    new Duel(setting.times(15, 2), Duration.ZERO)
                            .fight(
                                    List.of(
                                            new Duel.Entry(WARM, each, warm),
                                            new Duel.Entry(
                                                    COLD,
                                                    each,
                                                    (count, interval) ->
                                                            create(service, "none", count)),
                                            new Duel.Entry(INSIDE, each, inside)));
            double within = results.getOrDefault(INSIDE, new Samples()).medianMillis();
            String told = claims(service, pool);
            report.row(
                    row(
                            name(),
                            results.getOrDefault(WARM, new Samples()),
                            within,
                            WARM_MILLIS,
                            told));
            report.row(
                    row(
                            name() + ".cold",
                            results.getOrDefault(COLD, new Samples()),
                            within,
                            COLD_MILLIS,
                            ""));
        }
        service.api().delete("/v1/pools/" + pool);
    }

    private static Row row(
            String name, Samples samples, double within, double target, String note) {
        return Row.of(name, samples.medianMillis(), "ms")
                .withPeer("in-process, cold", within)
                .withTarget(Target.valueAtMost(target))
                .withNote(
                        "p90 "
                                + Numbers.text(samples.percentileMillis(90))
                                + ", p99 "
                                + Numbers.text(samples.percentileMillis(99))
                                + " ms"
                                + note);
    }

    private static String claims(Service service, String pool) {
        String told = service.api().get("/v1/pools/" + pool);
        return "; pool: claimed "
                + Api.number(told, "claimed")
                + ", missed "
                + Api.number(told, "missed");
    }

    /** One after the other, each deleted before the next. */
    private static List<Long> create(Service service, String pool, int count) {
        service.plan(List.of(), Load.Step.create(pool), Load.Step.delete("{id}"));
        List<Load.Chain> chains = service.load().oneByOne(count);
        Outcome.ofStep(chains, 1).orThrow("create and delete");
        return chains.stream().map(chain -> chain.step(0).total()).toList();
    }

    private static List<Long> createInside(Caisson caisson, int count) {
        List<Long> times = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            long start = System.nanoTime();
            try (Sandbox _ = caisson.create()) {
                times.add(System.nanoTime() - start);
            }
        }
        return times;
    }

    private void steady(Setting setting, Service service, Report report) {
        String pool = service.pool("bench-steady", STEADY_POOL);
        Duration length = Duration.ofSeconds(setting.times(60, 5));
        service.plan(List.of(), Load.Step.create("bench-steady"), Load.Step.delete("{id}"));
        List<Load.Chain> chains;
        try (Progress _ = Progress.show(name() + ".steady", length)) {
            chains =
                    service.load()
                            .every(
                                    (int) length.toSeconds() * PER_SECOND,
                                    Duration.ofSeconds(1).dividedBy(PER_SECOND),
                                    Duration.ofSeconds(30));
        }
        Outcome created = Outcome.ofStep(chains, 0);
        Row row =
                Row.of(name() + ".steady", created.millis(99), "ms p99")
                        .withNote(
                                PER_SECOND
                                        + " a second for "
                                        + length.toSeconds()
                                        + " s, pool of "
                                        + STEADY_POOL
                                        + "; "
                                        + created.told()
                                        + "; deleted: "
                                        + Outcome.ofStep(chains, 1).statuses()
                                        + claims(service, pool));
        // An answer that is missing cannot meet it.
        report.row(row.withTarget(Target.valueAtMost(created.bad() == 0 ? STEADY_MILLIS : 0)));
        service.api().delete("/v1/pools/" + pool);
    }
}
