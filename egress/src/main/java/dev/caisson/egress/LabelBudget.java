package dev.caisson.egress;

import dev.caisson.policy.HostName;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much text a sandbox may spell in names that only a suffix allows: whoever runs the servers of
 * names beneath that suffix reads it, even when no connection comes about. A name costs the
 * characters before the suffix, once. Safe for use by several threads.
 */
final class LabelBudget {
    /** At once, and in each hour. */
    static final int CHARACTERS = 4096;

    private static final int KNOWN = 10_000;
    private static final Pattern SUFFIX = Pattern.compile("\\*\\.([a-z0-9._-]+)");

    private final TokenBucket characters;
    private final Set<HostName> known = ConcurrentHashMap.newKeySet();

    LabelBudget(LongSupplier nanoTime) {
        characters = new TokenBucket(CHARACTERS, TimeUnit.HOURS.toNanos(1), nanoTime);
    }

    /**
     * Whether a name may be asked for outside.
     *
     * @param rule that allows it, in words
     */
    boolean take(HostName name, String rule) {
        Matcher suffix = SUFFIX.matcher(rule);
        if (!suffix.find() || known.contains(name)) {
            return true;
        }
        int cost = Math.max(1, name.value().length() - suffix.group(1).length() - 1);
        if (!characters.tryTake(cost)) {
            return false;
        }
        if (known.size() < KNOWN) {
            known.add(name);
        }
        return true;
    }
}
