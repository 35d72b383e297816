package dev.caisson.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A tenant whose programs do their worst, beside another tenant's execs. */
final class ServiceNeighbour implements Measure {
    private static final int PER_SECOND = 40;
    private static final int BOXES = 4;
    private static final double MOVED = 2;
    private static final Duration SETTLE = Duration.ofSeconds(1);

    /** What a tenant of whom nothing is known would be given, and what its sandboxes then ask. */
    private static final String QUOTAS = "{\"cpuMillis\":1000,\"pids\":600,\"weight\":10}";

    private static final String SMALL = "{\"cpuMillis\":125,\"pids\":64}";

    private static final Map<String, String> BOMBS = new LinkedHashMap<>();

    static {
        BOMBS.put("fork", "f() { f | f & }; while :; do (f) 2>/dev/null; done");
        BOMBS.put("cpu", "for i in 1 2 3 4; do while :; do :; done & done; wait");
        BOMBS.put(
                "disk",
                "while :; do dd if=/dev/zero of=/work/full bs=1M 2>/dev/null; sync; rm -f"
                        + " /work/full; done");
        BOMBS.put("output", "while :; do yes flood; done");
    }

    @Override
    public String name() {
        return "service.neighbour";
    }

    @Override
    public void run(Setting setting, Report report) {
        Service.measure(
                name(),
                setting,
                report,
                service -> {
                    service.warmUp(setting);
                    List<String> ids = service.create(BOXES);
                    Duels duels = new Duels(setting, service, ids, report);
                    String free = tenant(service, "bench-hostile", "{}");
                    BOMBS.forEach((bomb, script) ->
                            duels.fight(name() + "." + bomb, free, "{}", List.of(script)));
                    List<String> all = List.copyOf(BOMBS.values());
                    duels.fight(name() + ".all", free, "{}", all);
                    String capped = tenant(service, "bench-capped", QUOTAS);
                    duels.fight(name() + ".all.capped", capped, SMALL, all);
                    service.delete(ids);
                });
    }

    /** A new tenant; a key of its own. */
    private static String tenant(Service service, String tenant, String quotas) {
        service.api()
                .post("/v1/tenants", "{\"name\":\"" + tenant + "\",\"quotas\":" + quotas + "}");
        return Api.text(
                service.api()
                        .as(tenant, service.api().key())
                        .post("/v1/keys", "{\"name\":\"bench\",\"role\":\"operator\"}"),
                "key");
    }

    /**
     * Takes turns: alone, beside the bombs.
     *
     * @param ids sandboxes of the tenant that is disturbed
     */
    private record Duels(Setting setting, Service service, List<String> ids, Report report) {
        void fight(String name, String key, String limits, List<String> scripts) {
            int seconds = setting.times(10, 3);
            List<Load.Chain> alone = new ArrayList<>();
            List<Load.Chain> beside = new ArrayList<>();
            int rounds = setting.times(3, 1);
            Duration length = Duration.ofSeconds((long) rounds * 2 * (seconds + 2));
            try (Progress _ = Progress.show(name, length)) {
                for (int round = 0; round < rounds; round++) {
                    alone.addAll(execs(seconds));
                    List<String> bombs = light(key, limits, scripts);
                    Pace.rest(SETTLE);
                    beside.addAll(execs(seconds));
                    bombs.forEach(service.api().as("", key)::delete);
                    Pace.rest(SETTLE);
                }
            }
            Outcome before = Outcome.ofStep(alone, 0);
            Outcome moved = Outcome.ofStep(beside, 0);
            double bound = moved.bad() == 0 ? MOVED : 0;
            report.row(
                    Row.of(name, moved.millis(99), "ms p99")
                            .withPeer("alone", before.millis(99))
                            .withTarget(Target.ratioAtMost(bound))
                            .withNote(
                                    PER_SECOND
                                            + " execs a second; "
                                            + moved.told()
                                            + "; alone p50 "
                                            + Numbers.text(before.millis(50))
                                            + (limits.equals(SMALL)
                                                    ? "; the other tenant has quotas " + QUOTAS
                                                    : "; the other tenant has no quotas")));
        }

        private List<Load.Chain> execs(int seconds) {
            service.plan(ids, Load.Step.exec("{target}", "/bin/true"));
            return service.load()
                    .every(
                            seconds * PER_SECOND,
                            Duration.ofSeconds(1).dividedBy(PER_SECOND),
                            Duration.ofSeconds(30));
        }

        /** Two sandboxes of each kind of bomb; their paths. */
        private List<String> light(String key, String limits, List<String> scripts) {
            Api api = service.api().as("", key);
            List<String> bombs = new ArrayList<>();
            for (String script : scripts) {
                for (int i = 0; i < 2; i++) {
                    String path =
                            "/v1/sandboxes/"
                                    + Api.text(
                                            api.post(
                                                    "/v1/sandboxes",
                                                    "{\"pool\":\"none\",\"limits\":"
                                                            + limits
                                                            + "}"),
                                            "id");
                    bombs.add(path);
                    api.post(
                            path + "/execs?mode=detach",
                            "{\"timeoutMillis\":600000,\"command\":\"" + script + "\"}");
                }
            }
            return bombs;
        }
    }
}
