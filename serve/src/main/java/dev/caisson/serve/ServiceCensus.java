package dev.caisson.serve;

import dev.caisson.control.Counts;
import dev.caisson.control.Service;
import dev.caisson.server.Census;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Counts of the service, for metrics. */
record ServiceCensus(Service service) implements Census {
    private static final String SANDBOXES = "sandboxes.";

    @Override
    public Map<String, Long> sandboxes() {
        return service.gauges().entrySet().stream()
                .filter(gauge -> gauge.getKey().startsWith(SANDBOXES))
                .collect(
                        Collectors.toMap(
                                gauge -> gauge.getKey().substring(SANDBOXES.length()),
                                Map.Entry::getValue));
    }

    @Override
    public long execs() {
        return gauge("execs.running");
    }

    @Override
    public long poolReady() {
        return gauge("pools.ready");
    }

    @Override
    public long approvalsWaiting() {
        return gauge("approvals.waiting");
    }

    private long gauge(String name) {
        return service.gauges().getOrDefault(name, 0L);
    }

    @Override
    public Map<String, Boolean> engines() {
        return service.engines();
    }

    @Override
    public Optional<Counts> counts() {
        return Optional.of(service.counts());
    }
}
