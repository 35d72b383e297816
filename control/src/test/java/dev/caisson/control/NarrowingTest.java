package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.Tier;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PolicyJson;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class NarrowingTest {
    private static final int ROUNDS = 3000;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void noCombinationAllowsMoreThanAnyOfItsParts(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < ROUNDS; i++) {
            List<PolicyJson> layers = new ArrayList<>();
            for (int n = random.nextInt(1, 4); n > 0; n--) {
                layers.add(policy(random));
            }
            EffectivePolicy all = Narrowing.of(layers, "v");
            LimitsJson asked = limits(random);
            for (PolicyJson layer : layers) {
                narrower(all, Narrowing.of(List.of(layer), "v"), asked);
            }
        }
    }

    private static void narrower(EffectivePolicy all, EffectivePolicy one, LimitsJson asked) {
        assertThat(one.tiers()).containsAll(all.tiers());
        assertThat(one.templates()).containsAll(all.templates());
        assertThat(all.minTier()).isGreaterThanOrEqualTo(one.minTier());
        assertThat(!all.root() || one.root()).isTrue();
        assertThat(!all.publicPorts() || one.publicPorts()).isTrue();
        assertThat(!all.allowDegraded() || one.allowDegraded()).isTrue();
        one.maxLife()
                .ifPresent(
                        most -> assertThat(all.maxLife().orElseThrow()).isLessThanOrEqualTo(most));
        one.maxTimeout()
                .ifPresent(most ->
                        assertThat(all.maxTimeout().orElseThrow()).isLessThanOrEqualTo(most));
        assertThat(all.ask()).containsAll(one.ask());
        assertThat(all.approvalTimeout()).isLessThanOrEqualTo(one.approvalTimeout());
        // What the whole grants, each part grants as well, and just the same.
        granted(all, asked)
                .ifPresent(limits -> assertThat(granted(one, exactly(limits))).contains(limits));
        granted(all, LimitsJson.NONE)
                .ifPresent(limits -> assertThat(granted(one, exactly(limits))).contains(limits));
    }

    private static LimitsJson exactly(Limits limits) {
        return EffectivePolicy.form(limits);
    }

    private static Optional<Limits> granted(EffectivePolicy policy, LimitsJson asked) {
        try {
            return Optional.of(policy.limits(asked));
        } catch (CaissonException e) {
            assertThat(e.code()).isIn(ErrorCode.POLICY_DENIED, ErrorCode.INVALID);
            return Optional.empty();
        }
    }

    private static PolicyJson policy(SplittableRandom random) {
        List<String> tiers = new ArrayList<>(List.of("container", "gvisor", "microvm"));
        tiers.removeIf(tier -> random.nextBoolean());
        List<String> templates = new ArrayList<>(List.of("host", "node", "python"));
        templates.removeIf(template -> random.nextBoolean());
        List<ApprovalRule> ask = new ArrayList<>();
        if (random.nextBoolean()) {
            ask.add(
                    new ApprovalRule(
                            "exec", List.of("c" + random.nextInt(3)), List.of(), List.of()));
        }
        return new PolicyJson(
                null,
                null,
                null,
                tiers,
                some(random, "container", "gvisor", "microvm"),
                random.nextBoolean() ? null : limits(random),
                random.nextBoolean() ? null : limits(random),
                templates,
                null,
                some(random, "denied", "allowed"),
                random.nextBoolean() ? null : Boolean.valueOf(random.nextBoolean()),
                number(random, 1, 100_000),
                number(random, 1, 100_000),
                ask,
                number(random, 1, 100_000),
                random.nextBoolean() ? null : Boolean.valueOf(random.nextBoolean()),
                null);
    }

    private static @Nullable String some(SplittableRandom random, String... choices) {
        int i = random.nextInt(choices.length + 1);
        return i == choices.length ? null : choices[i];
    }

    private static @Nullable Long number(SplittableRandom random, long min, long max) {
        return random.nextBoolean() ? null : Long.valueOf(random.nextLong(min, max));
    }

    private static LimitsJson limits(SplittableRandom random) {
        return new LimitsJson(
                number(random, 10, 4000),
                number(random, 16 << 20, 1 << 30),
                number(random, 4, 512),
                number(random, 1 << 20, 1 << 30),
                number(random, 64, 1 << 18),
                number(random, 8, 2048),
                number(random, 1, 100_000),
                number(random, 0, 1 << 21),
                some(random, "truncate", "kill"),
                number(random, 4096, 1 << 20));
    }

    @Test
    void nothingSaidIsTheNarrowest() {
        EffectivePolicy policy = Narrowing.of(List.of(PolicyJson.defaults()), "v");
        assertThat(policy.tiers()).containsExactly(Tier.CONTAINER);
        assertThat(policy.templates()).containsExactly("host");
        assertThat(policy.root()).isFalse();
        assertThat(policy.publicPorts()).isFalse();
        assertThat(policy.allowDegraded()).isFalse();
        assertThat(policy.limits(null)).isEqualTo(Limits.defaults());
    }
}
