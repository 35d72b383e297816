package dev.caisson.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * A thousand sandboxes of one server that live at once: what each costs, whether the last starts as
 * fast as the first, a steady rate of execs in all of them, and what comes beyond the highest.
 */
final class ServiceAlive implements Measure {
    private static final int SANDBOXES = Integer.getInteger("caisson.bench.alive", 1000);
    private static final int SECONDS = Integer.getInteger("caisson.bench.seconds", 300);
    private static final int RATE = Integer.getInteger("caisson.bench.rate", 400);
    private static final int AROUND = 10;
    private static final double MIB = 1048576;
    private static final double MIB_EACH = 2;
    private static final double HEAP_MIB = 256;
    private static final double SLOWER = 2;
    private static final double MILLIS = 25;
    private static final double FLAT = 1.1;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Override
    public String name() {
        return "service.alive";
    }

    @Override
    public void run(Setting setting, Report report) {
        Service.measure(
                name(),
                setting,
                report,
                service -> {
                    service.warmUp(setting);
                    List<String> ids = fill(setting.times(SANDBOXES, 30), service, report);
                    steady(setting.times(SECONDS, 5), service, ids, report);
                    new Saturation(service, ids, setting.times(10, 2), RATE)
                            .measure(name(), report);
                    service.delete(ids);
                });
    }

    private List<String> fill(int count, Service service, Report report) {
        HostMemory before = HostMemory.settled(service.serverPid());
        service.plan(List.of(), Load.Step.create("none"), Load.Step.exec("{id}", "/bin/true"));
        List<Load.Chain> chains;
        try (Progress _ = Progress.show(count + " sandboxes", Duration.ofMillis(count * 15L))) {
            chains = service.load().oneByOne(count);
        }
        Outcome.ofStep(chains, 1).orThrow("Creating and using sandboxes");
        double each =
                (HostMemory.settled(service.serverPid()).outsideJava() - before.outsideJava())
                        / MIB
                        / count;
        report.row(
                each <= 0
                        ? Row.skipped(
                                name() + ".memory",
                                "other work changed the machine's memory more than ours")
                        : Row.of(name() + ".memory", each, "MiB")
                                .withTarget(Target.valueAtMost(MIB_EACH))
                                .withNote("each of " + count + ", without the JVMs; one round"));
        report.row(heap(name() + ".heap", service));
        Samples first = starts(chains.subList(0, AROUND));
        Samples last = starts(chains.subList(count - AROUND, count));
        report.row(
                Row.of(name() + ".start", last.medianMillis(), "ms")
                        .withPeer("the first " + AROUND, first.medianMillis())
                        .withTarget(Target.ratioAtMost(SLOWER))
                        .withNote(
                                "create and exec over HTTP of number "
                                        + (count - AROUND + 1)
                                        + " to "
                                        + count));
        return Service.ids(chains);
    }

    private static Samples starts(List<Load.Chain> chains) {
        Samples samples = new Samples();
        chains.forEach(chain -> samples.add(chain.end() - chain.offset()));
        return samples;
    }

    /**
     * Used after collections. The old generation counts as it is now, garbage included, since it
     * may not have been collected yet.
     */
    private static Row heap(String name, Service service) {
        String metrics = service.api().get("/metrics");
        List<Double> parts = new ArrayList<>();
        for (String sample :
                List.of(
                        "jvm_memory_pool_collection_used_bytes{pool=\"Eden Space\"}",
                        "jvm_memory_pool_collection_used_bytes{pool=\"Survivor Space\"}",
                        "jvm_memory_pool_used_bytes{pool=\"Tenured Gen\"}")) {
            OptionalDouble value = Api.metric(metrics, sample);
            if (value.isEmpty()) {
                return Row.skipped(name, "/metrics does not tell " + sample);
            }
            parts.add(value.getAsDouble() / MIB);
        }
        double collected =
                Api.metric(metrics, "jvm_memory_pool_collection_used_bytes{pool=\"Tenured Gen\"}")
                        .orElse(0);
        return Row.of(name, parts.stream().mapToDouble(part -> part).sum(), "MiB")
                .withTarget(Target.valueAtMost(HEAP_MIB))
                .withNote(
                        "old generation as it is, of it after its last collection "
                                + Numbers.text(collected / MIB)
                                + "; resident "
                                + Numbers.text(HostMemory.resident(service.serverPid()) / MIB));
    }

    private void steady(int seconds, Service service, List<String> ids, Report report) {
        HostMemory before = HostMemory.settled();
        long java = HostMemory.resident(service.serverPid());
        CpuMeter cpu = new CpuMeter(service.serverPid());
        service.plan(ids, Load.Step.exec("{target}", "/bin/true"));
        List<Load.Chain> chains;
        Duration length = Duration.ofSeconds(seconds);
        try (Progress _ = Progress.show(RATE + " execs a second", length)) {
            chains =
                    service.load()
                            .every(RATE * seconds, Duration.ofSeconds(1).dividedBy(RATE), PATIENCE);
        }
        CpuMeter.Usage used = cpu.used();
        Outcome all = Outcome.ofStep(chains, 0);
        int fifth = chains.size() / 5;
        Outcome early = Outcome.ofStep(chains.subList(0, fifth), 0);
        Outcome late = Outcome.ofStep(chains.subList(chains.size() - fifth, chains.size()), 0);
        report.row(
                Row.of(name() + ".execs", all.millis(99), "ms p99")
                        .withTarget(Target.valueAtMost(MILLIS))
                        .withNote(
                                RATE
                                        + " a second for "
                                        + seconds
                                        + " s in "
                                        + ids.size()
                                        + " sandboxes; "
                                        + all.told()
                                        + "; p99 of the first fifth "
                                        + Numbers.text(early.millis(99))
                                        + ", of the last "
                                        + Numbers.text(late.millis(99))
                                        + "; "
                                        + used.perCycle(chains.size())));
        report.row(
                Row.of(name() + ".execs.errors", all.bad(), "errors")
                        .withTarget(Target.valueAtMost(0))
                        .withNote(all.statuses()));
        HostMemory after = HostMemory.settled();
        report.row(
                Row.of(name() + ".execs.memory", after.outsideJava() / MIB, "MiB")
                        .withPeer("before the execs", before.outsideJava() / MIB)
                        .withTarget(Target.ratioAtMost(FLAT))
                        .withNote(
                                "whole machine but this JVM; of it the server "
                                        + Numbers.text(java / MIB)
                                        + " before, "
                                        + Numbers.text(
                                                HostMemory.resident(service.serverPid()) / MIB)
                                        + " after"));
        report.row(heap(name() + ".execs.heap", service));
    }
}
