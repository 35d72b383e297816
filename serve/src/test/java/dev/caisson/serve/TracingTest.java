package dev.caisson.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.server.RequestListener;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Spans as a collector gets them. */
class TracingTest {
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String PARENT = "00f067aa0ba902b7";

    private static RequestListener.Ended request(String route, @Nullable String traceparent) {
        return new RequestListener.Ended(
                "rq1", route, 200, "tnsearch", "sbbox", traceparent, 5_000_000);
    }

    private static String bytes(String hex) {
        return new String(HexFormat.of().parseHex(hex), StandardCharsets.ISO_8859_1);
    }

    private static void untilLoaded(Tracing tracing, Collector collector) {
        await().until(() -> {
            tracing.ended(request("GET /warm", null));
            return !collector.bodies.isEmpty();
        });
    }

    @Test
    void carriesTheTraceOfTheCaller() throws Exception {
        try (Collector collector = new Collector()) {
            try (Tracing tracing = Tracing.start(Optional.of(collector.base().toString()), "n1")) {
                untilLoaded(tracing, collector);
                tracing.ended(request("GET /v1/x", "00-" + TRACE + "-" + PARENT + "-01"));
                tracing.ended(request("GET /v1/unsampled", "00-" + TRACE + "-" + PARENT + "-00"));
                tracing.ended(request("GET /v1/broken", "00-" + TRACE + "-broken-01"));
            }
            assertThat(collector.types).containsOnly("application/x-protobuf");
            assertThat(collector.all())
                    .contains("GET /v1/x", bytes(TRACE), bytes(PARENT), "tnsearch", "sbbox")
                    .contains("http.response.status_code", "service.name", "caisson", "n1")
                    .contains("GET /v1/broken")
                    .doesNotContain("GET /v1/unsampled");
        }
    }

    @Test
    void isOffByDefault() {
        try (Tracing tracing = Tracing.start(Optional.empty(), "n1")) {
            tracing.ended(request("GET /v1/x", null));
        }
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().equals("caisson-traces"));
    }
}
