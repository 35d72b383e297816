package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A command over HTTP, beside the same in-process and fork, execve and waitpid from C. */
final class ServiceExec implements Measure {
    private static final String HTTP = "http";
    private static final String INSIDE = "in-process";
    private static final String FORK = "fork+exec from C";
    private static final double AS_FORK = 2.5;
    private static final double ABOVE_MILLIS = 0.6;
    private static final double FIRST_BYTE_MILLIS = 5;

    @Override
    public String name() {
        return "service.exec";
    }

    @Override
    public void run(Setting setting, Report report) {
        Service.measure(
                name(),
                setting,
                report,
                service -> {
                    service.warmUp(setting);
                    List<String> ids = service.create(1);
                    execs(setting, service, ids, report);
                    stream(setting, service, ids, report);
                    service.delete(ids);
                });
    }

    private void execs(Setting setting, Service service, List<String> ids, Report report) {
        try (Caisson caisson = Caisson.open();
                Sandbox sandbox = caisson.create();
                Peer peer = Peer.start(FORK, setting.pace(), List.of("/bin/true"))) {
            Pace.run(setting.times(3000, 200), Duration.ZERO, () -> Life.execTrue(sandbox));
            peer.run(50, Duration.ZERO);
            service.plan(ids, Load.Step.exec("{target}", "/bin/true"));
            Duel tight = new Duel(setting.times(20, 3), Duration.ZERO);
            rows(name(), tight, 100, service, sandbox, peer, report);
            Duel paced = new Duel(setting.times(8, 1), Pace.SLOW);
            rows(name() + ".paced", paced, 20, service, sandbox, peer, report);
        }
    }

    private static void rows(
            String name,
            Duel duel,
            int count,
            Service service,
            Sandbox sandbox,
            Peer peer,
            Report report) {
        CpuMeter cpu = new CpuMeter(service.serverPid());
        Duel.Contestant inside =
                (times, interval) -> Pace.run(times, interval, () -> Life.execTrue(sandbox));
        Map<String, Samples> results =
                duel.fight(
                        List.of(
                                new Duel.Entry(
                                        HTTP,
                                        count,
                                        (times, interval) -> http(service.load(), times, interval)),
                                new Duel.Entry(INSIDE, count, inside),
                                new Duel.Entry(FORK, count, peer::run)));
        CpuMeter.Usage used = cpu.used();
        Samples http = results.getOrDefault(HTTP, new Samples());
        double within = results.getOrDefault(INSIDE, new Samples()).medianMillis();
        double fork = results.getOrDefault(FORK, new Samples()).medianMillis();
        report.row(
                Row.of(name, http.medianMillis(), "ms")
                        .withPeer(FORK, fork)
                        .withTarget(Target.ratioAtMost(AS_FORK))
                        .withNote(
                                "p90 "
                                        + Numbers.text(http.percentileMillis(90))
                                        + ", p99 "
                                        + Numbers.text(http.percentileMillis(99))
                                        + " ms; CPU ms of the server each "
                                        + Numbers.text(used.java() / http.count())));
        report.row(
                Row.of(name + ".above", http.medianMillis() - within, "ms")
                        .withTarget(Target.valueAtMost(ABOVE_MILLIS))
                        .withNote(
                                "over HTTP "
                                        + Numbers.text(http.medianMillis())
                                        + " less in-process "
                                        + Numbers.text(within)
                                        + ", medians"));
    }

    private static List<Long> http(Load load, int count, Duration interval) {
        List<Load.Chain> chains =
                interval.isZero()
                        ? load.oneByOne(count)
                        : load.every(count, interval, Duration.ofSeconds(10));
        Outcome.ofStep(chains, 0).orThrow("exec");
        return chains.stream().map(chain -> chain.step(0).total()).toList();
    }

    private void stream(Setting setting, Service service, List<String> ids, Report report) {
        Load.Step step =
                new Load.Step(
                        "POST",
                        "/v1/sandboxes/{target}/execs?mode=stream",
                        Load.Step.argv("/bin/echo", "caisson-was-here"),
                        "caisson-was-here",
                        "caisson-was-here");
        service.plan(ids, step);
        Samples first = new Samples();
        Samples total = new Samples();
        service.load().oneByOne(setting.times(300, 50));
        for (int block = 0; block < setting.times(20, 2); block++) {
            List<Load.Chain> chains = service.load().oneByOne(50);
            Outcome.ofStep(chains, 0).orThrow("stream");
            chains.forEach(chain -> {
                first.add(chain.step(0).first());
                total.add(chain.step(0).total());
            });
        }
        report.row(
                Row.of("service.stream", first.medianMillis(), "ms")
                        .withTarget(Target.valueAtMost(FIRST_BYTE_MILLIS))
                        .withNote(
                                "from the request to the first output of /bin/echo; p99 "
                                        + Numbers.text(first.percentileMillis(99))
                                        + " ms; to the end "
                                        + Numbers.text(total.medianMillis())
                                        + " ms"));
    }
}
