package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.v1.LimitsJson;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A host that gives the container tier, by an engine that can do nothing more. */
final class EngineRackTest {
    private final EngineRack engines =
            new EngineRack(
                    List.of(new EngineRack.Slot(Tier.CONTAINER, FakeEngine::new)), List.of());

    @AfterEach
    void close() {
        engines.close();
    }

    private static EffectivePolicy policy(Tier least, Tier... tiers) {
        return new EffectivePolicy(
                EnumSet.copyOf(List.of(tiers)),
                least,
                LimitsJson.NONE,
                LimitsJson.NONE,
                Set.of("host"),
                false,
                false,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Duration.ofMinutes(1),
                true,
                List.of(),
                "1");
    }

    private CaissonException unavailable(@Nullable String asked, EffectivePolicy policy) {
        return Fixture.refused(ErrorCode.TIER_UNAVAILABLE, () -> engines.choose(asked, policy));
    }

    @Test
    void namesTheTierThatIsHere() {
        EffectivePolicy both = policy(Tier.CONTAINER, Tier.CONTAINER, Tier.MICROVM);
        CaissonException refusal = unavailable("microvm", both);
        assertThat(refusal).hasMessageContaining("The tier microvm is not available");
        assertThat(refusal.remedy()).contains("Use the tier container");
        assertThat(refusal.details()).containsEntry("available", "container");
        assertThat(engines.choose("auto", both).tier()).isEqualTo(Tier.CONTAINER); // control
    }

    @Test
    void namesWhatThePolicyWouldHaveToAllow() {
        CaissonException refusal = unavailable(null, policy(Tier.MICROVM, Tier.MICROVM));
        assertThat(refusal.remedy()).contains("policy").contains("container");
        CaissonException least =
                unavailable("auto", policy(Tier.GVISOR, Tier.CONTAINER, Tier.MICROVM));
        assertThat(least.details()).containsEntry("available", "");
    }

    @Test
    void namesTheTiersThatCanDoWhatThisOneCannot() {
        CaissonException io =
                engines.unsupported(
                        Tier.CONTAINER,
                        "limit disk traffic",
                        "ioBytesPerSecond",
                        List.of(Tier.CONTAINER, Tier.MICROVM),
                        Engine.Capabilities::ioRate);
        assertThat(io.code()).isEqualTo(ErrorCode.UNSUPPORTED);
        assertThat(io).hasMessage("The tier container cannot limit disk traffic.");
        assertThat(io.remedy())
                .isEqualTo(
                        "Leave ioBytesPerSecond out, or use the tier microvm once this host gives"
                                + " it.");
        CaissonException here =
                engines.unsupported(
                        Tier.MICROVM, "do it", "it", List.of(Tier.GVISOR), capabilities -> true);
        assertThat(here.remedy()).isEqualTo("Leave it out, or use the tier container.");
    }
}
