package dev.caisson.server;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmBufferPoolMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmClassLoadingMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmCompilationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmGarbageCollectorMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryPoolAllocationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmRuntimeInfoMetric;
import io.prometheus.metrics.instrumentation.jvm.JvmThreadsMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;

/** What Prometheus is told. Labels are words of closed lists: what they may be is bounded. */
final class Metrics {
    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final AtomicBoolean scraped = new AtomicBoolean();
    private final Counter requests;
    private final Histogram seconds;
    private final Gauge streams;
    private final Counter proxied;

    Metrics(Census census, IntSupplier connections) {
        requests =
                Counter.builder()
                        .name("caisson_http_requests")
                        .help("Requests by route and class of status.")
                        .labelNames("route", "status")
                        .register(registry);
        seconds =
                Histogram.builder()
                        .name("caisson_http_request_seconds")
                        .help("Time from head to end of answer.")
                        .classicOnly()
                        .classicUpperBounds(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
                        .labelNames("route")
                        .register(registry);
        streams =
                Gauge.builder()
                        .name("caisson_http_open_streams")
                        .help("Streams and WebSockets that are open.")
                        .register(registry);
        proxied =
                Counter.builder()
                        .name("caisson_port_requests")
                        .help("Requests to ports of sandboxes by class of status.")
                        .labelNames("status")
                        .register(registry);
        GaugeWithCallback.builder()
                .name("caisson_http_connections")
                .help("Connections of clients.")
                .callback(told -> told.call(connections.getAsInt()))
                .register(registry);
        ServiceMetrics.register(census, registry);
    }

    void request(String route, int status, double took) {
        requests.labelValues(route, statusClass(status)).inc();
        seconds.labelValues(route).observe(took);
    }

    void proxied(int status) {
        proxied.labelValues(statusClass(status)).inc();
    }

    private static String statusClass(int status) {
        return status >= 100 && status < 600 ? status / 100 + "xx" : "none";
    }

    void streamOpened() {
        streams.inc();
    }

    void streamClosed() {
        streams.dec();
    }

    double openStreams() {
        return streams.get();
    }

    /** The JVM and its process; a tenth of a second, so not before anybody asks. */
    private void machine() {
        ProcessMetrics.builder().register(registry);
        JvmRuntimeInfoMetric.builder().register(registry);
        JvmMemoryMetrics.builder().register(registry);
        JvmMemoryPoolAllocationMetrics.builder().register(registry);
        JvmBufferPoolMetrics.builder().register(registry);
        JvmGarbageCollectorMetrics.builder().register(registry);
        JvmThreadsMetrics.builder().register(registry);
        JvmClassLoadingMetrics.builder().register(registry);
        JvmCompilationMetrics.builder().register(registry);
    }

    /** In Prometheus' text format. */
    String text() throws IOException {
        if (!scraped.getAndSet(true)) {
            machine();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrometheusTextFormatWriter.create()
                .write(bytes, registry.scrape(), EscapingScheme.UNDERSCORE_ESCAPING);
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
