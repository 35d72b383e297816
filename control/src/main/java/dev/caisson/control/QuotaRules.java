package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.QuotaJson;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Refuses quotas that mean nothing. */
final class QuotaRules {
    private static final int MAX_WEIGHT = 1000;

    private QuotaRules() {}

    static void check(@Nullable QuotaJson quotas) {
        if (quotas == null) {
            return;
        }
        Map<String, @Nullable Long> numbers = new LinkedHashMap<>();
        numbers.put("sandboxes", quotas.sandboxes());
        numbers.put("createsPerMinute", quotas.createsPerMinute());
        numbers.put("cpuSecondsPerHour", quotas.cpuSecondsPerHour());
        numbers.put("memoryBytes", quotas.memoryBytes());
        numbers.put("diskBytes", quotas.diskBytes());
        numbers.put("outputBytesPerHour", quotas.outputBytesPerHour());
        numbers.put("execs", quotas.execs());
        numbers.put("pids", quotas.pids());
        numbers.put("cpuMillis", quotas.cpuMillis());
        numbers.forEach((name, value) -> {
            if (value != null && value < 0) {
                throw CaissonException.invalid(
                        "quotas." + name, "The quota " + name + " is negative.");
            }
        });
        Integer weight = quotas.weight();
        if (weight != null && (weight < 1 || weight > MAX_WEIGHT)) {
            throw CaissonException.invalid("quotas.weight", "A weight is 1 to 1000.")
                    .withDetail("allowed", "1 to 1000");
        }
    }
}
