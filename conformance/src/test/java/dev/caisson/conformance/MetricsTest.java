package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecReason;
import dev.caisson.api.Tier;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What /metrics tells after things have happened, and in which words. */
@Timeout(120)
@Execution(ExecutionMode.SAME_THREAD)
class MetricsTest extends ServiceFixture {
    private static final Pattern LINE =
            Pattern.compile("(caisson_[a-z_]+)(?:\\{(.*)\\})? ([-+0-9.eEInf]+)");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"([^\"]*)\",?");

    /** What each label may say, by metric and label. */
    private static final Map<String, Set<String>> WORDS =
            Map.ofEntries(
                    Map.entry(
                            "caisson_sandboxes.state",
                            Set.of(
                                    "creating",
                                    "running",
                                    "pausing",
                                    "paused",
                                    "resuming",
                                    "snapshotting",
                                    "ending",
                                    "pooled")),
                    Map.entry(
                            "caisson_sandbox_creates.outcome",
                            with(words(ErrorCode.values(), ErrorCode::value), "made")),
                    Map.entry("caisson_sandbox_create_seconds.start", Set.of("cold", "pool")),
                    Map.entry(
                            "caisson_sandbox_ends.reason",
                            words(EndReason.values(), EndReason::value)),
                    Map.entry(
                            "caisson_exec_ends.reason",
                            with(words(ExecReason.values(), ExecReason::value), "failed")),
                    Map.entry("caisson_pool_claims.outcome", Set.of("ready", "missed")),
                    Map.entry(
                            "caisson_quota_refusals.quota",
                            Set.of(
                                    "sandboxes",
                                    "createsPerMinute",
                                    "cpuSecondsPerHour",
                                    "memoryBytes",
                                    "diskBytes",
                                    "outputBytesPerHour",
                                    "execs",
                                    "pids",
                                    "cpuMillis")),
                    Map.entry("caisson_engine_up.tier", words(Tier.values(), Tier::value)));

    private static <T> Set<String> words(T[] values, java.util.function.Function<T, String> word) {
        return Arrays.stream(values).map(word).collect(Collectors.toSet());
    }

    private static Set<String> with(Set<String> words, String more) {
        return Stream.concat(words.stream(), Stream.of(more)).collect(Collectors.toSet());
    }

    private static String metrics() {
        return api.get("/metrics").text();
    }

    private static double value(String metric) {
        return metrics()
                .lines()
                .filter(line -> line.startsWith(metric + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(metric.length() + 1)))
                .findFirst()
                .orElse(0);
    }

    /** How much a metric grows by what is done. */
    private static void grows(String metric, double by, Runnable what) {
        double before = value(metric);
        what.run();
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() -> assertThat(value(metric)).as(metric).isEqualTo(before + by));
    }

    @Test
    void tellsWhatHasHappened() {
        grows("caisson_engine_up{tier=\"container\"}", 0, () -> {});
        assertThat(value("caisson_engine_up{tier=\"container\"}")).isEqualTo(1);
        grows(
                "caisson_sandbox_creates_total{outcome=\"made\"}",
                1,
                () ->
                        grows(
                                "caisson_sandbox_create_seconds_count{start=\"cold\"}",
                                1,
                                () ->
                                        grows(
                                                "caisson_sandbox_ends_total{reason=\"deleted\"}",
                                                1,
                                                () ->
                                                        api.delete(
                                                                        "/v1/sandboxes/"
                                                                                + api.sandbox(
                                                                                        Map.of()))
                                                                .ok())));
        grows(
                "caisson_sandbox_creates_total{outcome=\"policy_denied\"}",
                1,
                () -> api.post("/v1/sandboxes", Map.of("tier", "microvm")));
        String id = api.sandbox(Map.of());
        grows("caisson_exec_ends_total{reason=\"exited\"}", 1, () -> api.sh(id, "true"));
        grows(
                "caisson_exec_ends_total{reason=\"failed\"}",
                1,
                () ->
                        api.post(
                                "/v1/sandboxes/" + id + "/execs",
                                Map.of("argv", List.of("no-such-program"))));
        String sleeps = id(start(id, Map.of("command", "sleep 60")));
        await().atMost(Duration.ofSeconds(20)) // killed before, it would be one that failed
                .until(() -> api.get("/v1/execs/" + sleeps).ok().path("pid").isNumber());
        grows(
                "caisson_exec_ends_total{reason=\"killed\"}",
                1,
                () -> api.post("/v1/execs/" + sleeps + "/kill", Map.of()).ok());
        assertThat(value("caisson_store_write_seconds_count")).isPositive();
        assertThat(value("caisson_store_write_seconds_sum")).isPositive();
        assertThat(metrics())
                .contains(
                        "caisson_approvals_waiting 0.0", "caisson_webhook_dead_letters_total 0.0");
    }

    @Test
    void tellsOfPools() {
        String name = name();
        String pool = id(api.post("/v1/pools", Map.of("name", name, "size", 1)).ok(201));
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(value("caisson_pool_ready")).isEqualTo(1));
        grows(
                "caisson_pool_claims_total{outcome=\"ready\"}",
                1,
                () ->
                        grows(
                                "caisson_sandbox_create_seconds_count{start=\"pool\"}",
                                1,
                                () -> api.sandbox(Map.of("pool", name))));
        assertThat(api.delete("/v1/pools/" + pool).status()).isEqualTo(204);
        String empty = id(api.post("/v1/pools", Map.of("name", name(), "size", 0)).ok(201));
        grows(
                "caisson_pool_claims_total{outcome=\"missed\"}",
                1,
                () -> api.sandbox(Map.of("pool", empty)));
        assertThat(api.delete("/v1/pools/" + empty).status()).isEqualTo(204);
    }

    @Test
    void tellsOfQuotasWithoutTheirTenant() {
        String tenant =
                id(
                        api.post(
                                        "/v1/tenants",
                                        Map.of("name", "metered", "quotas", Map.of("sandboxes", 0)))
                                .ok(201));
        grows(
                "caisson_quota_refusals_total{quota=\"sandboxes\"}",
                1,
                () ->
                        assertThat(
                                        api.with("Caisson-Tenant", tenant)
                                                .post("/v1/sandboxes", Map.of())
                                                .code())
                                .isEqualTo("quota_exceeded"));
        assertThat(metrics()).doesNotContain(tenant).doesNotContain("metered");
        api.delete("/v1/tenants/" + tenant).ok();
    }

    @Test
    void labelsAreOfClosedLists() {
        String id = api.sandbox(Map.of("name", name()));
        api.sh(id, "true");
        Set<String> seen = new HashSet<>();
        for (String line : metrics().lines().filter(one -> one.startsWith("caisson_")).toList()) {
            Matcher found = LINE.matcher(line);
            assertThat(found.matches()).as(line).isTrue();
            String metric = found.group(1).replaceFirst("_(total|bucket|count|sum)$", "");
            seen.add(metric);
            Matcher label = LABEL.matcher(found.group(2) == null ? "" : found.group(2));
            while (label.find()) {
                assertThat(isBounded(metric, label.group(1), label.group(2))).as(line).isTrue();
            }
        }
        assertThat(seen)
                .contains("caisson_sandboxes", "caisson_store_write_seconds", "caisson_engine_up");
        assertThat(isBounded("caisson_sandboxes", "sandbox", id)).isFalse(); // control
        assertThat(metrics()).doesNotContain(id);
    }

    private static boolean isBounded(String metric, String label, String word) {
        return switch (label) {
            case "le" -> true;
            case "status" -> word.matches("[1-5]xx|none");
            case "route" -> word.equals("none") || word.matches("(MOUNT|[A-Z]+) /[a-z0-9/{}._-]*");
            default -> WORDS.getOrDefault(metric + "." + label, Set.of()).contains(word);
        };
    }
}
