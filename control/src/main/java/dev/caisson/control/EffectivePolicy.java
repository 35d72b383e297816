package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.Tier;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.LimitsJson;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a caller's sandboxes may do, all layers taken together: the tenant's policy, the key's and
 * the request's, each of which can only narrow.
 *
 * @param tiers that may be asked for
 * @param minTier weakest that {@code auto} may choose
 * @param maxLimits ceilings; an absent one is the product's own
 * @param defaultLimits when none is asked
 * @param templates that may be used
 * @param root whether root inside may be asked for
 * @param publicPorts whether ports without a token may be opened
 * @param maxLife longest life of any sandbox
 * @param maxTimeout longest time to an end that moves
 * @param ask what waits for an approval
 * @param approvalTimeout no answer means no
 * @param allowDegraded whether a host that cannot do all may be accepted
 * @param egress the way out: what each of these documents allows
 * @param version of the documents, for events
 */
record EffectivePolicy(
        Set<Tier> tiers,
        Tier minTier,
        LimitsJson maxLimits,
        LimitsJson defaultLimits,
        Set<String> templates,
        boolean root,
        boolean publicPorts,
        Optional<Duration> maxLife,
        Optional<Duration> maxTimeout,
        List<ApprovalRule> ask,
        Duration approvalTimeout,
        boolean allowDegraded,
        List<EgressJson> egress,
        String version) {

    EffectivePolicy {
        tiers = Set.copyOf(tiers);
        templates = Set.copyOf(templates);
        ask = List.copyOf(ask);
        egress = List.copyOf(egress);
    }

    static CaissonException denied(String field, String requested, String allowed) {
        return CaissonException.of(
                        ErrorCode.POLICY_DENIED,
                        "The policy does not allow "
                                + field
                                + " "
                                + requested
                                + "; it allows "
                                + allowed
                                + ".")
                .withRemedy("Ask for what is allowed, or ask an admin for another policy.")
                .withDetail("field", field)
                .withDetail("requested", requested)
                .withDetail("allowed", allowed);
    }

    /**
     * The limits of a request: what it asks, else the default, never above the ceiling.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED} above a ceiling, {@link
     *     ErrorCode#INVALID} out of bounds
     */
    Limits limits(@Nullable LimitsJson asked) {
        LimitsJson given = asked == null ? LimitsJson.NONE : asked;
        Limits limits = execs(space(Limits.defaults(), given), given);
        Long io = given.ioBytesPerSecond();
        Long cap = maxLimits.ioBytesPerSecond();
        if (io == null) {
            io = defaultLimits.ioBytesPerSecond() == null ? cap : defaultLimits.ioBytesPerSecond();
        }
        return io == null
                ? limits
                : limits.withIoRate(
                        ByteSize.of(choose("limits.ioBytesPerSecond", io, null, cap, io)));
    }

    /** What the sandbox as a whole may take. */
    private Limits space(Limits base, LimitsJson given) {
        return base.withCpus(
                        choose(
                                        "limits.cpuMillis",
                                        given.cpuMillis(),
                                        defaultLimits.cpuMillis(),
                                        maxLimits.cpuMillis(),
                                        Math.round(base.cpus() * 1000))
                                / 1000.0)
                .withMemory(
                        bytes(
                                "limits.memoryBytes",
                                given.memoryBytes(),
                                defaultLimits.memoryBytes(),
                                maxLimits.memoryBytes(),
                                base.memory()))
                .withPids(
                        number(
                                choose(
                                        "limits.pids",
                                        given.pids(),
                                        defaultLimits.pids(),
                                        maxLimits.pids(),
                                        base.pids())))
                .withDisk(
                        bytes(
                                "limits.diskBytes",
                                given.diskBytes(),
                                defaultLimits.diskBytes(),
                                maxLimits.diskBytes(),
                                base.disk()))
                .withInodes(
                        choose(
                                "limits.inodes",
                                given.inodes(),
                                defaultLimits.inodes(),
                                maxLimits.inodes(),
                                base.inodes()));
    }

    /** What each exec may take. */
    private Limits execs(Limits base, LimitsJson given) {
        Limits limits =
                base.withOpenFiles(
                                number(
                                        choose(
                                                "limits.openFiles",
                                                given.openFiles(),
                                                defaultLimits.openFiles(),
                                                maxLimits.openFiles(),
                                                base.openFiles())))
                        .withTimeout(
                                Duration.ofMillis(
                                        choose(
                                                "limits.timeoutMillis",
                                                given.timeoutMillis(),
                                                defaultLimits.timeoutMillis(),
                                                maxLimits.timeoutMillis(),
                                                base.timeout().toMillis())))
                        .withOutputLimit(
                                bytes(
                                        "limits.outputBytes",
                                        given.outputBytes(),
                                        defaultLimits.outputBytes(),
                                        maxLimits.outputBytes(),
                                        base.outputLimit()));
        String onOutput =
                given.onOutputLimit() == null
                        ? defaultLimits.onOutputLimit()
                        : given.onOutputLimit();
        String hardest = maxLimits.onOutputLimit();
        if (hardest != null && !hardest.equals(onOutput)) {
            if (given.onOutputLimit() != null && hardest.equals("kill")) {
                throw denied("limits.onOutputLimit", given.onOutputLimit(), hardest);
            }
            onOutput = hardest.equals("kill") || onOutput == null ? hardest : onOutput;
        }
        return onOutput == null ? limits : limits.withOnOutputLimit(onOutputLimit(onOutput));
    }

    static OnOutputLimit onOutputLimit(String word) {
        return switch (word) {
            case "truncate" -> OnOutputLimit.TRUNCATE;
            case "kill" -> OnOutputLimit.KILL;
            default ->
                    throw CaissonException.invalid(
                                    "limits.onOutputLimit",
                                    "'" + word + "' is not truncate or kill.")
                            .withDetail("allowed", "truncate, kill");
        };
    }

    private static String word(OnOutputLimit choice) {
        return switch (choice) {
            case TRUNCATE -> "truncate";
            case KILL -> "kill";
        };
    }

    /** Beyond what fits: refused with its bounds by {@link Limits}. */
    private static int number(long value) {
        return (int) Math.min(value, Integer.MAX_VALUE);
    }

    private static ByteSize bytes(
            String field,
            @Nullable Long asked,
            @Nullable Long usual,
            @Nullable Long ceiling,
            ByteSize base) {
        return ByteSize.of(choose(field, asked, usual, ceiling, base.bytes()));
    }

    private static long choose(
            String field,
            @Nullable Long asked,
            @Nullable Long usual,
            @Nullable Long ceiling,
            long base) {
        if (asked == null) {
            long chosen = usual == null ? base : usual;
            return ceiling == null ? chosen : Math.min(chosen, ceiling);
        }
        if (asked < 0) {
            throw CaissonException.invalid(field, "The limit " + field + " is negative.");
        }
        if (ceiling != null && asked > ceiling) {
            throw denied(field, asked.toString(), "at most " + ceiling).withDetail("limit", field);
        }
        return asked;
    }

    /** The forms of limits, as they are answered. */
    static LimitsJson form(Limits limits) {
        return new LimitsJson(
                Math.round(limits.cpus() * 1000),
                limits.memory().bytes(),
                (long) limits.pids(),
                limits.disk().bytes(),
                limits.inodes(),
                (long) limits.openFiles(),
                limits.timeout().toMillis(),
                limits.outputLimit().bytes(),
                word(limits.onOutputLimit()),
                limits.ioRate().map(ByteSize::bytes).orElse(null));
    }
}
