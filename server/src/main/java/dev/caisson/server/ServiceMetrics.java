package dev.caisson.server;

import dev.caisson.control.Buckets;
import dev.caisson.control.Counts;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Map;
import java.util.function.ToLongFunction;

/** What Prometheus is told of the service beneath HTTP; read when it asks. */
final class ServiceMetrics {
    private final Census census;
    private final PrometheusRegistry registry;

    private ServiceMetrics(Census census, PrometheusRegistry registry) {
        this.census = census;
        this.registry = registry;
    }

    static void register(Census census, PrometheusRegistry registry) {
        ServiceMetrics metrics = new ServiceMetrics(census, registry);
        metrics.gauges();
        metrics.census.counts().ifPresent(metrics::counters);
    }

    private void gauges() {
        GaugeWithCallback.builder()
                .name("caisson_sandboxes")
                .help("Sandboxes of this server by state.")
                .labelNames("state")
                .callback(told ->
                        census.sandboxes().forEach((state, n) -> told.call((double) n, state)))
                .register(registry);
        GaugeWithCallback.builder()
                .name("caisson_engine_up")
                .help("Whether the engine of a tier answers.")
                .labelNames("tier")
                .callback(
                        told -> census.engines().forEach((tier, up) -> told.call(up ? 1 : 0, tier)))
                .register(registry);
        gauge("caisson_execs", "Commands that run now.", Census::execs);
        gauge("caisson_pool_ready", "Warm sandboxes that are ready.", Census::poolReady);
        gauge(
                "caisson_approvals_waiting",
                "Approvals that somebody should decide.",
                Census::approvalsWaiting);
    }

    private void gauge(String name, String help, ToLongFunction<Census> value) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .callback(told -> told.call((double) value.applyAsLong(census)))
                .register(registry);
    }

    private void counters(Counts counts) {
        counter(
                "caisson_sandbox_creates",
                "Sandboxes that were asked for: made, or the code of the error.",
                "outcome",
                counts::creates);
        counter("caisson_sandbox_ends", "Ends of sandboxes.", "reason", counts::ends);
        counter("caisson_exec_ends", "Ends of commands.", "reason", counts::execEnds);
        counter(
                "caisson_pool_claims",
                "Requests that a pool fits: ready, or missed where none was warm.",
                "outcome",
                counts::poolClaims);
        counter(
                "caisson_quota_refusals",
                "Refusals and cuts because of a quota.",
                "quota",
                counts::quotaRefusals);
        CounterWithCallback.builder()
                .name("caisson_webhook_dead_letters")
                .help("Events that a webhook was given up for.")
                .callback(told -> told.call((double) counts.deadLetters()))
                .register(registry);
        registry.register(() ->
                histogram("caisson_sandbox_create_seconds", "Time until a sandbox was made.")
                        .dataPoint(point(counts.coldCreates(), Labels.of("start", "cold")))
                        .dataPoint(point(counts.poolCreates(), Labels.of("start", "pool")))
                        .build());
        registry.register(() ->
                histogram("caisson_store_write_seconds", "Time until a write is durable.")
                        .dataPoint(point(counts.storeWrites(), Labels.EMPTY))
                        .build());
    }

    /** Of which words are told as they come up. */
    @FunctionalInterface
    private interface Told {
        Map<String, Long> now();
    }

    private void counter(String name, String help, String label, Told told) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .labelNames(label)
                .callback(to -> told.now().forEach((word, n) -> to.call((double) n, word)))
                .register(registry);
    }

    private static HistogramSnapshot.Builder histogram(String name, String help) {
        return HistogramSnapshot.builder().name(name).help(help);
    }

    private static HistogramSnapshot.HistogramDataPointSnapshot point(Buckets seen, Labels labels) {
        return HistogramSnapshot.HistogramDataPointSnapshot.builder()
                .labels(labels)
                .classicHistogramBuckets(
                        ClassicHistogramBuckets.of(seen.upperSeconds(), seen.counts()))
                .sum(seen.sumSeconds())
                .build();
    }
}
