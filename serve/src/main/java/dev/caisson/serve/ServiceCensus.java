package dev.caisson.serve;

import dev.caisson.control.Service;
import dev.caisson.server.Census;
import java.util.Map;
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
        return service.gauges().getOrDefault("execs.running", 0L);
    }
}
