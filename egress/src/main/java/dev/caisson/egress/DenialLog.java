package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import dev.caisson.wire.egress.Denial;
import dev.caisson.wire.egress.Denials;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What was refused to one sandbox, the last thousand kinds of it. The same again moves to the end
 * with a higher count, so that who asks for what is new sees it. Safe for use by several threads.
 */
final class DenialLog {
    static final int MAX = 1000;

    private static final int MAX_TEXT = 512;

    // Guarded by this: in the order of their numbers.
    private final Map<Key, Denial> kept = new LinkedHashMap<>();
    private long last;
    private long dropped;

    private record Key(String kind, String target, String rule) {}

    /**
     * Adds one.
     *
     * @return how many of that kind there were by now
     */
    synchronized long add(String kind, String target, Verdict verdict) {
        String shown = target.length() > MAX_TEXT ? target.substring(0, MAX_TEXT) : target;
        Key key = new Key(kind, shown, verdict.rule());
        Denial before = kept.remove(key);
        long count = before == null ? 1 : before.getCount() + 1;
        kept.put(
                key,
                Denial.newBuilder()
                        .setNumber(++last)
                        .setTimeMicros(Clock.micros())
                        .setKind(kind)
                        .setTarget(shown)
                        .setRule(verdict.rule())
                        .setRemedy(verdict.remedy())
                        .setCount(count)
                        .build());
        if (kept.size() > MAX) {
            kept.remove(kept.keySet().iterator().next());
            dropped++;
        }
        return count;
    }

    /** Those behind a number, oldest first. */
    synchronized Denials after(long number) {
        List<Denial> newer = new ArrayList<>();
        for (Denial denial : kept.values()) {
            if (Long.compareUnsigned(denial.getNumber(), number) > 0) {
                newer.add(denial);
            }
        }
        long first = kept.isEmpty() ? last + 1 : kept.values().iterator().next().getNumber();
        long missed = Math.min(dropped, Math.max(0, first - 1 - number));
        return Denials.newBuilder().addAllDenials(newer).setLast(last).setMissed(missed).build();
    }
}
