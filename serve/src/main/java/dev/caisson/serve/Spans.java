package dev.caisson.serve;

import dev.caisson.server.RequestListener;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Makes spans of requests and sends them to a collector, in batches on a thread of its own. When
 * the collector is away, what does not fit into the queue (2048) is dropped.
 *
 * @see <a href="https://www.w3.org/TR/trace-context/">where a trace comes from</a>
 */
final class Spans implements RequestListener, AutoCloseable {
    private static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
    private static final AttributeKey<Long> STATUS =
            AttributeKey.longKey("http.response.status_code");
    private static final AttributeKey<String> REQUEST = AttributeKey.stringKey("caisson.request");
    private static final AttributeKey<String> TENANT = AttributeKey.stringKey("caisson.tenant");
    private static final AttributeKey<String> SANDBOX = AttributeKey.stringKey("caisson.sandbox");
    private static final Pattern PARENT =
            Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?");

    private final SdkTracerProvider provider;
    private final Tracer tracer;

    private Spans(SdkTracerProvider provider) {
        this.provider = provider;
        this.tracer = provider.get("dev.caisson.server");
    }

    static Spans open(URI endpoint, String node) {
        OtlpHttpSpanExporter exporter =
                OtlpHttpSpanExporter.builder()
                        .setEndpoint(endpoint.toString())
                        .setTimeout(Duration.ofSeconds(5))
                        .build();
        Resource resource =
                Resource.getDefault()
                        .merge(
                                Resource.create(
                                        Attributes.of(
                                                AttributeKey.stringKey("service.name"),
                                                "caisson",
                                                AttributeKey.stringKey("service.instance.id"),
                                                node)));
        return new Spans(
                SdkTracerProvider.builder()
                        .setResource(resource)
                        .addSpanProcessor(
                                BatchSpanProcessor.builder(exporter)
                                        .setScheduleDelay(Duration.ofSeconds(1))
                                        .build())
                        .build());
    }

    @Override
    public void ended(Ended request) {
        long end = nanos(Instant.now());
        SpanBuilder builder =
                tracer.spanBuilder(request.route())
                        .setSpanKind(SpanKind.SERVER)
                        .setParent(parent(request.traceparent()))
                        .setStartTimestamp(end - request.nanos(), TimeUnit.NANOSECONDS)
                        .setAttribute(ROUTE, request.route())
                        .setAttribute(STATUS, (long) request.status())
                        .setAttribute(REQUEST, request.id());
        if (!request.tenant().isEmpty()) {
            builder.setAttribute(TENANT, request.tenant());
        }
        if (!request.sandbox().isEmpty()) {
            builder.setAttribute(SANDBOX, request.sandbox());
        }
        Span span = builder.startSpan();
        if (request.status() >= 500) {
            span.setStatus(StatusCode.ERROR);
        }
        span.end(end, TimeUnit.NANOSECONDS);
    }

    private static long nanos(Instant time) {
        return TimeUnit.SECONDS.toNanos(time.getEpochSecond()) + time.getNano();
    }

    /** What is malformed is as if it were absent, as the recommendation asks. */
    private static Context parent(@Nullable String traceparent) {
        Matcher parts = PARENT.matcher(traceparent == null ? "" : traceparent);
        if (!parts.matches()) {
            return Context.root();
        }
        SpanContext caller =
                SpanContext.createFromRemoteParent(
                        parts.group(1),
                        parts.group(2),
                        TraceFlags.fromHex(parts.group(3), 0),
                        TraceState.getDefault());
        return caller.isValid() ? Context.root().with(Span.wrap(caller)) : Context.root();
    }

    @Override
    public void close() {
        provider.shutdown().join(3, TimeUnit.SECONDS);
    }
}
