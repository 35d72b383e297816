package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.Json;
import dev.caisson.v1.QuotaJson;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Refuses quotas that mean nothing. */
final class QuotaRules {
    private static final int MAX_WEIGHT = 1000;

    private static final Set<String> NAMES =
            Arrays.stream(QuotaJson.class.getRecordComponents())
                    .map(RecordComponent::getName)
                    .collect(Collectors.toUnmodifiableSet());

    private QuotaRules() {}

    /**
     * Quotas after a merge patch.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID}
     */
    static QuotaJson merged(QuotaJson now, @Nullable Map<String, @Nullable Long> patch) {
        if (patch == null) {
            return now;
        }
        Map<String, @Nullable Long> all = now.patch();
        patch.forEach((name, value) -> {
            if (value == null) {
                all.remove(name);
            } else {
                all.put(name, value);
            }
        });
        patch.keySet().stream()
                .filter(name -> !NAMES.contains(name))
                .findFirst()
                .ifPresent(QuotaRules::unknown);
        QuotaJson quotas = Json.request(Json.bytes(all), QuotaJson.class);
        check(quotas);
        return quotas;
    }

    private static void unknown(String name) {
        throw CaissonException.invalid(
                        "quotas." + Boxes.shown(name),
                        "There is no quota '" + Boxes.shown(name) + "'.")
                .withDetail("allowed", String.join(", ", new TreeSet<>(NAMES)));
    }

    static void check(@Nullable QuotaJson quotas) {
        if (quotas == null) {
            return;
        }
        quotas.patch()
                .forEach((name, value) -> {
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
