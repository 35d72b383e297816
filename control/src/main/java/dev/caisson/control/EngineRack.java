package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.v1.TierJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engines of this host, weakest tier first. One whose launcher went away is opened again in the
 * background; meanwhile what needs it is refused. Thread-safe.
 */
public final class EngineRack implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineRack.class);
    private static final long RETRY_MILLIS = 200;
    private static final long MOST_MILLIS = 1000;
    private static final long AGAIN_MILLIS = 50;

    private final List<Slot> slots;
    private final List<TierJson> missing;

    /** An engine that is not back after that is gone, and with it all that it had. */
    static final Duration PATIENCE = Duration.ofSeconds(15);

    private final Map<Tier, Engine> open = new ConcurrentHashMap<>();
    private volatile Consumer<Engine> reopened = engine -> {};
    private volatile boolean closed;

    /**
     * How an engine is opened; again whenever its launcher went away.
     *
     * @param tier that it gives
     * @param opener opens it
     */
    public record Slot(Tier tier, Supplier<Engine> opener) {}

    /**
     * Opens all.
     *
     * @param slots weakest tier first
     * @param missing tiers that nothing gives here
     * @throws CaissonException what an opener says
     */
    public EngineRack(List<Slot> slots, List<TierJson> missing) {
        this.slots = List.copyOf(slots);
        this.missing = List.copyOf(missing);
        try {
            this.slots.forEach(slot -> put(slot, slot.opener().get()));
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // it never fails
    private void put(Slot slot, Engine engine) {
        open.put(slot.tier(), engine);
        if (closed && open.remove(slot.tier(), engine)) {
            engine.close();
            return;
        }
        engine.onLost().thenAccept(cause -> lost(slot, engine, cause));
    }

    private void lost(Slot slot, Engine engine, CaissonException cause) {
        if (closed || !open.remove(slot.tier(), engine)) {
            return;
        }
        LOG.atWarn()
                .addKeyValue("tier", slot.tier().value())
                .addKeyValue("cause", cause.message())
                .log("engine lost, opening it again");
        Thread.ofVirtual()
                .name("caisson-engine-" + slot.tier().value())
                .start(() -> {
                    engine.close();
                    reopen(slot);
                });
    }

    private void reopen(Slot slot) {
        long wait = RETRY_MILLIS;
        while (!closed) {
            try {
                Engine engine = slot.opener().get();
                put(slot, engine);
                reopened.accept(engine);
                LOG.atInfo().addKeyValue("tier", slot.tier().value()).log("engine opened again");
                return;
            } catch (RuntimeException e) {
                LOG.atDebug().addKeyValue("cause", e.getMessage()).log("engine is still away");
            }
            try {
                TimeUnit.MILLISECONDS.sleep(wait);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
            wait = Math.min(wait * 2, MOST_MILLIS);
        }
    }

    /** Told when an engine was opened again. */
    void onReopened(Consumer<Engine> listener) {
        reopened = listener;
    }

    /** All that are open now. */
    List<Engine> engines() {
        return slots.stream()
                .map(slot -> open.get(slot.tier()))
                .filter(java.util.Objects::nonNull)
                .<Engine>map(engine -> engine)
                .toList();
    }

    boolean complete() {
        return open.size() == slots.size();
    }

    /** The one of a tier that is there. */
    Optional<Engine> of(Tier tier) {
        return Optional.ofNullable(open.get(tier));
    }

    /** The one of a tier; waits for one that went away. */
    Optional<Engine> await(Tier tier, Duration longest) {
        long until = System.nanoTime() + longest.toNanos();
        Optional<Engine> engine = of(tier);
        while (engine.isEmpty() && System.nanoTime() < until) {
            pause();
            engine = of(tier);
        }
        return engine;
    }

    /** Whether an engine broke off, which may be one that {@link #of} still gives. */
    static boolean brokeOff(CaissonException e) {
        return e.code() == ErrorCode.LAUNCHER_UNAVAILABLE || e.code() == ErrorCode.ENGINE_FAILED;
    }

    /**
     * As long as an engine is given before it is asked again.
     *
     * @throws CaissonException {@link ErrorCode#CANCELLED} when interrupted
     */
    void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(AGAIN_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(
                    ErrorCode.CANCELLED, "Interrupted while an engine was away.", e);
        }
    }

    /**
     * The engine for a request: the weakest tier that the policy allows for {@code auto}.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED}, {@link ErrorCode#TIER_UNAVAILABLE},
     *     {@link ErrorCode#LAUNCHER_UNAVAILABLE}
     */
    Engine choose(@Nullable String asked, EffectivePolicy policy) {
        Tier tier = asked == null ? Tier.AUTO : Tier.of(asked);
        if (tier == Tier.UNKNOWN) {
            throw CaissonException.invalid("tier", "There is no tier '" + asked + "'.")
                    .withDetail("allowed", "container, gvisor, microvm, auto");
        }
        if (tier != Tier.AUTO && !policy.tiers().contains(tier)) {
            throw EffectivePolicy.denied("tier", tier.value(), words(policy));
        }
        for (Slot slot : slots) {
            boolean fits =
                    tier == slot.tier()
                            || (tier == Tier.AUTO
                                    && policy.tiers().contains(slot.tier())
                                    && slot.tier().compareTo(policy.minTier()) >= 0);
            if (fits) {
                return opened(slot);
            }
        }
        throw unavailable(tier, policy);
    }

    private CaissonException unavailable(Tier asked, EffectivePolicy policy) {
        List<String> can =
                slots.stream()
                        .map(Slot::tier)
                        .filter(policy.tiers()::contains)
                        .filter(there -> there.compareTo(policy.minTier()) >= 0)
                        .map(Tier::value)
                        .toList();
        String what =
                asked == Tier.AUTO
                        ? "No tier that the policy allows is available on this host."
                        : "The tier " + asked.value() + " is not available on this host.";
        String remedy =
                can.isEmpty()
                        ? "Have the policy allow a tier that this host gives: "
                                + String.join(
                                        ", ", slots.stream().map(s -> s.tier().value()).toList())
                                + "; or make another one available, see /v1/info."
                        : "Use the tier "
                                + String.join(" or ", can)
                                + ", or see /v1/info for what is missing for others.";
        return CaissonException.of(ErrorCode.TIER_UNAVAILABLE, what)
                .withRemedy(remedy)
                .withDetail("requested", asked.value())
                .withDetail("allowed", words(policy))
                .withDetail("available", String.join(", ", can));
    }

    /**
     * Refuses what a tier cannot do, and names the tiers that can.
     *
     * @param what it cannot, such as {@code save memory}
     * @param without what to leave out instead
     * @param others tiers that can, whether or not this host gives them
     */
    CaissonException unsupported(
            Tier tier,
            String what,
            String without,
            List<Tier> others,
            Predicate<Engine.Capabilities> can) {
        List<String> here =
                engines().stream()
                        .filter(engine -> can.test(engine.capabilities()))
                        .map(engine -> engine.tier().value())
                        .toList();
        List<String> named =
                here.isEmpty()
                        ? others.stream().filter(other -> other != tier).map(Tier::value).toList()
                        : here;
        return CaissonException.of(
                        ErrorCode.UNSUPPORTED, "The tier " + tier.value() + " cannot " + what + ".")
                .withRemedy(
                        "Leave "
                                + without
                                + " out, or use the tier "
                                + String.join(" or ", named)
                                + (here.isEmpty() ? " once this host gives it." : "."));
    }

    private Engine opened(Slot slot) {
        Engine engine = open.get(slot.tier());
        if (engine == null) {
            throw CaissonException.of(
                            ErrorCode.LAUNCHER_UNAVAILABLE,
                            "The engine of the tier "
                                    + slot.tier().value()
                                    + " is away and is being opened again.")
                    .withRemedy("Try again in a few seconds; see whether the launcher runs.");
        }
        return engine;
    }

    private static String words(EffectivePolicy policy) {
        return String.join(", ", policy.tiers().stream().map(Tier::value).sorted().toList());
    }

    /** Whether the engine of each tier of this host answers. */
    Map<String, Boolean> up() {
        return slots.stream()
                .collect(
                        Collectors.toMap(
                                slot -> slot.tier().value(),
                                slot -> open.containsKey(slot.tier())));
    }

    /** For info. */
    List<TierJson> tiers() {
        List<TierJson> tiers = new ArrayList<>();
        for (Slot slot : slots) {
            Engine engine = open.get(slot.tier());
            tiers.add(
                    new TierJson(
                            slot.tier().value(),
                            engine != null,
                            engine == null ? null : engine.name(),
                            engine == null ? "the launcher does not answer" : null,
                            engine == null ? "start the launcher" : null));
        }
        tiers.addAll(missing);
        return tiers;
    }

    @Override
    public void close() {
        closed = true;
        open.values().forEach(Engine::close);
    }
}
