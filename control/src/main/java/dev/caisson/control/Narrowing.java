package dev.caisson.control;

import dev.caisson.api.Tier;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PolicyJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What several policies allow together: what each of them allows alone. An absent part of a policy
 * is its narrowest default, but for ceilings, where it is none.
 */
final class Narrowing {
    private static final long APPROVAL_MILLIS = Duration.ofMinutes(5).toMillis();
    private static final List<Tier> WEAKEST_FIRST =
            List.of(Tier.CONTAINER, Tier.GVISOR, Tier.MICROVM);

    private final List<PolicyJson> layers;

    private Narrowing(List<PolicyJson> layers) {
        this.layers = layers;
    }

    /**
     * @param layers at least one, the tenant's first
     */
    static EffectivePolicy of(List<PolicyJson> layers, String version) {
        return new Narrowing(layers).effective(version);
    }

    private EffectivePolicy effective(String version) {
        return new EffectivePolicy(
                common(Narrowing::tiers),
                strongest(),
                limits(PolicyJson::maxLimits),
                limits(PolicyJson::defaultLimits),
                common(Narrowing::templates),
                layers.stream().allMatch(layer -> "allowed".equals(layer.root())),
                layers.stream().allMatch(layer -> Boolean.TRUE.equals(layer.publicPorts())),
                least(PolicyJson::maxLifeMillis).map(Duration::ofMillis),
                least(PolicyJson::maxTimeoutMillis).map(Duration::ofMillis),
                ask(),
                Duration.ofMillis(least(Narrowing::approvalMillis).orElse(APPROVAL_MILLIS)),
                layers.stream().allMatch(layer -> Boolean.TRUE.equals(layer.allowDegraded())),
                layers.stream().map(Narrowing::egress).toList(),
                version);
    }

    private static Set<Tier> tiers(PolicyJson policy) {
        Set<Tier> tiers = new HashSet<>();
        policy.tiers().forEach(word -> tiers.add(Tier.of(word)));
        return tiers.isEmpty() ? Set.of(Tier.CONTAINER) : tiers;
    }

    private static EgressJson egress(PolicyJson policy) {
        EgressJson egress = policy.egress();
        return egress == null ? EgressJson.closed() : egress;
    }

    private static Set<String> templates(PolicyJson policy) {
        return policy.templates().isEmpty() ? Set.of("host") : Set.copyOf(policy.templates());
    }

    private static @Nullable Long approvalMillis(PolicyJson policy) {
        Long millis = policy.approvalTimeoutMillis();
        return millis == null ? Long.valueOf(APPROVAL_MILLIS) : millis;
    }

    private <T> Set<T> common(Function<PolicyJson, Set<T>> part) {
        Set<T> common = new HashSet<>(part.apply(layers.getFirst()));
        layers.forEach(layer -> common.retainAll(part.apply(layer)));
        return common;
    }

    private Tier strongest() {
        int strongest = 0;
        for (PolicyJson layer : layers) {
            String word = layer.minTier();
            if (word != null) {
                strongest = Math.max(strongest, WEAKEST_FIRST.indexOf(Tier.of(word)));
            }
        }
        return WEAKEST_FIRST.get(strongest);
    }

    private Optional<Long> least(Function<PolicyJson, @Nullable Long> part) {
        return numbers(layers.stream().map(part)).min(Long::compare);
    }

    @SuppressWarnings("NullAway") // What is null was filtered out.
    private static Stream<Long> numbers(Stream<@Nullable Long> some) {
        return some.filter(Objects::nonNull);
    }

    private List<ApprovalRule> ask() {
        Set<ApprovalRule> all = new LinkedHashSet<>();
        layers.forEach(layer -> all.addAll(layer.ask()));
        return new ArrayList<>(all);
    }

    private LimitsJson limits(Function<PolicyJson, @Nullable LimitsJson> part) {
        LimitsJson least = LimitsJson.NONE;
        for (PolicyJson layer : layers) {
            LimitsJson given = part.apply(layer);
            if (given != null) {
                least = least(least, given);
            }
        }
        return least;
    }

    private static LimitsJson least(LimitsJson a, LimitsJson b) {
        return new LimitsJson(
                least(a.cpuMillis(), b.cpuMillis()),
                least(a.memoryBytes(), b.memoryBytes()),
                least(a.pids(), b.pids()),
                least(a.diskBytes(), b.diskBytes()),
                least(a.inodes(), b.inodes()),
                least(a.openFiles(), b.openFiles()),
                least(a.timeoutMillis(), b.timeoutMillis()),
                least(a.outputBytes(), b.outputBytes()),
                hardest(a.onOutputLimit(), b.onOutputLimit()),
                least(a.ioBytesPerSecond(), b.ioBytesPerSecond()));
    }

    private static @Nullable Long least(@Nullable Long a, @Nullable Long b) {
        if (a == null || b == null) {
            return a == null ? b : a;
        }
        return Math.min(a, b);
    }

    private static @Nullable String hardest(@Nullable String a, @Nullable String b) {
        if (a == null || b == null) {
            return a == null ? b : a;
        }
        return a.equals("kill") ? a : b;
    }
}
