package dev.caisson.core;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who has taken how much of something that all tenants share. As soon as a second tenant was seen
 * none may have more than it leaves free, so that there is always something for the next one: the
 * only one that asks gets half, two that ask for all get a third each. One that is alone gets all
 * but what is kept in reserve. Thread-safe.
 */
public final class Shares {
    private final long most;
    private final long reserve;

    /** Guarded by this; nothing is kept of those that have nothing. */
    private final Map<String, Long> owned = new HashMap<>();

    private long taken; // guarded by this
    private @Nullable String first; // guarded by this
    private boolean several; // guarded by this

    /**
     * Nothing is taken.
     *
     * @param most of all together
     */
    public Shares(long most) {
        this(most, false);
    }

    /**
     * The same.
     *
     * @param several whether a second tenant is expected before it was seen
     */
    public Shares(long most, boolean several) {
        this(most, 0, several);
    }

    private Shares(long most, long reserve, boolean several) {
        this.most = most;
        this.reserve = reserve;
        this.several = several;
    }

    /**
     * Nothing is taken, and whoever is alone leaves something to the next one.
     *
     * @param reserve what one that is alone cannot have
     */
    public static Shares withReserve(long most, long reserve) {
        return new Shares(most, reserve, false);
    }

    /** What came of an attempt. */
    public enum Outcome {
        TAKEN,
        /** All of it together is not enough. */
        FULL,
        /** The tenant has its share. */
        OVER
    }

    /** A tenant may need something from now on. */
    public synchronized void seen(String owner) {
        if (first == null) {
            first = owner;
        } else if (!first.equals(owner)) {
            several = true;
        }
    }

    /**
     * Takes it or nothing.
     *
     * @param owner the tenant; null: not known, bounded by what is there only
     */
    public synchronized Outcome take(@Nullable String owner, long amount) {
        if (amount == 0) {
            return Outcome.TAKEN;
        }
        long all = taken + amount;
        if (amount > most || all > most) {
            return Outcome.FULL;
        }
        if (owner != null) {
            long own = owned.getOrDefault(owner, 0L) + amount;
            if (several ? own > most - all : all > most - reserve) {
                return Outcome.OVER;
            }
            put(owner, own);
        }
        taken = all;
        return Outcome.TAKEN;
    }

    /** Takes it whatever the share: it was taken before its owner was known. */
    public synchronized void force(String owner, long amount) {
        taken += amount;
        put(owner, owned.getOrDefault(owner, 0L) + amount);
    }

    /** Gives back what was taken. */
    public synchronized void give(@Nullable String owner, long amount) {
        taken -= amount;
        if (owner != null) {
            put(owner, owned.getOrDefault(owner, 0L) - amount);
        }
    }

    private void put(String owner, long own) {
        if (own == 0) {
            owned.remove(owner);
        } else {
            owned.put(owner, own);
        }
    }

    /** What all have. */
    public synchronized long taken() {
        return taken;
    }

    /** What a tenant has. */
    public synchronized long taken(String owner) {
        return owned.getOrDefault(owner, 0L);
    }
}
