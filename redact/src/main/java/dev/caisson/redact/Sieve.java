package dev.caisson.redact;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Collection;

/**
 * Finds quickly where no form can begin. Looks at up to eight bytes at every eighth, fourth or
 * second place, as the shortest form allows: each form has one of its first grams there, and a bit
 * map knows those. It also stops at the bytes that escapes and line breaks begin with.
 */
final class Sieve {
    /** Bytes that are looked at together. */
    static final int BLOCK = 8;

    /** Bytes that must follow a block. */
    static final int AHEAD = 16;

    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGHS = 0x8080808080808080L;
    private static final long PERCENT = '%' * ONES;
    private static final long BACKSLASH = '\\' * ONES;
    private static final long NEWLINE = '\n' * ONES;
    private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
    private static final int SHORT_FORM = 6;
    private static final int LONG_FORM = 15;

    private final int stride;
    private final int gram;
    private final long gramMask;
    private final BitTable grams;
    private final BitTable triples;
    private final boolean[] used = new boolean[256];

    Sieve(Collection<byte[]> forms) {
        int shortest = forms.stream().mapToInt(form -> form.length).min().orElseThrow();
        stride = shortest >= LONG_FORM ? 8 : shortest > SHORT_FORM ? 4 : 2;
        gram = Math.min(BLOCK, shortest + 1 - stride);
        gramMask = gram == BLOCK ? -1 : (1L << (8 * gram)) - 1;
        grams = new BitTable((long) forms.size() * stride, 64, 22);
        triples = new BitTable(forms.stream().mapToLong(form -> form.length).sum(), 16, 21);
        forms.forEach(this::learn);
    }

    private void learn(byte[] form) {
        for (int first = 0; first < stride; first++) {
            long value = 0;
            for (int i = gram - 1; i >= 0; i--) {
                value = (value << 8) | (form[first + i] & 0xFF);
            }
            grams.add(value * MULTIPLIER);
        }
        for (int i = 0; i + 2 < form.length; i++) {
            triples.add(triple(form[i], form[i + 1], form[i + 2]));
        }
        for (byte b : form) {
            used[b & 0xFF] = true;
        }
    }

    /** Distance of the places that are looked at. */
    int stride() {
        return stride;
    }

    /** Bytes that are looked at in each place. */
    int gram() {
        return gram;
    }

    /** Whether any form has this byte. */
    boolean uses(byte b) {
        return used[b & 0xFF];
    }

    /** Whether any form has these three bytes in a row; says yes too often. */
    private boolean mayHave(byte first, byte second, byte third) {
        return triples.has(triple(first, second, third));
    }

    private static long triple(byte first, byte second, byte third) {
        return (((first & 0xFF) << 16) | ((second & 0xFF) << 8) | (third & 0xFF)) * MULTIPLIER;
    }

    /** Whether a form may have begun just before this place. */
    boolean hit(byte[] bytes, int at) {
        return grams.has(((long) LONG.get(bytes, at) & gramMask) * MULTIPLIER);
    }

    /**
     * The first block from here on that needs a closer look, or one that is too near to the end.
     *
     * @param floor before it nothing is part of a form
     */
    int next(byte[] bytes, int from, int limit, int floor) {
        int last = limit - BLOCK - AHEAD;
        return switch (stride) {
            case 8 -> byEight(bytes, from, last, floor);
            case 4 -> byFour(bytes, from, last, floor);
            default -> byTwo(bytes, from, last, floor);
        };
    }

    private int byEight(byte[] bytes, int from, int last, int floor) {
        BitTable table = grams;
        int at = from;
        for (; at <= last; at += BLOCK) {
            long block = (long) LONG.get(bytes, at);
            long hit = table.bit(block * MULTIPLIER) & 1;
            long odd = special(block);
            if ((hit | odd) != 0 && (hit != 0 || matters(bytes, at, odd, floor))) {
                break;
            }
        }
        return at;
    }

    private int byFour(byte[] bytes, int from, int last, int floor) {
        BitTable table = grams;
        long mask = gramMask;
        int at = from;
        for (; at <= last; at += BLOCK) {
            long low = (long) LONG.get(bytes, at);
            long high = (long) LONG.get(bytes, at + 4);
            long hit = table.bit((low & mask) * MULTIPLIER) | table.bit((high & mask) * MULTIPLIER);
            hit &= 1;
            long odd = special(low);
            if ((hit | odd) != 0 && (hit != 0 || matters(bytes, at, odd, floor))) {
                break;
            }
        }
        return at;
    }

    private int byTwo(byte[] bytes, int from, int last, int floor) {
        BitTable table = grams;
        long mask = gramMask;
        int at = from;
        for (; at <= last; at += BLOCK) {
            long low = (long) LONG.get(bytes, at);
            long hit = table.bit((low & mask) * MULTIPLIER);
            for (int more = 2; more < BLOCK; more += 2) {
                long next = (long) LONG.get(bytes, at + more);
                hit |= table.bit((next & mask) * MULTIPLIER);
            }
            hit &= 1;
            long odd = special(low);
            if ((hit | odd) != 0 && (hit != 0 || matters(bytes, at, odd, floor))) {
                break;
            }
        }
        return at;
    }

    /**
     * Whether a block needs a closer look; most line breaks and percent signs do not.
     *
     * @param special what {@link #special} said of the block
     */
    private boolean matters(byte[] bytes, int block, long special, int floor) {
        for (long odd = special; odd != 0; odd &= odd - 1) {
            int at = block + (Long.numberOfTrailingZeros(odd) >>> 3);
            byte b = bytes[at];
            if (b == '\n') {
                if (used[bytes[at + 1] & 0xFF] && breaks(bytes, at, floor)) {
                    return true;
                }
            } else if (b == '%') {
                if (Escape.isHex(bytes[at + 1]) && Escape.isHex(bytes[at + 2])) {
                    return true;
                }
            } else if (b == '\\' && Escape.mayFollow(bytes[at + 1])) {
                return true;
            }
        }
        return false;
    }

    /** Whether a form may go on behind a line break. */
    boolean breaks(byte[] bytes, int at, int floor) {
        int before = at > 0 && bytes[at - 1] == '\r' ? at - 2 : at - 1;
        if (before - 1 < floor) {
            return before >= floor;
        }
        byte near = bytes[before];
        byte next = bytes[at + 1];
        return mayHave(bytes[before - 1], near, next) || mayHave(near, next, bytes[at + 2]);
    }

    /** Not 0 when one of the eight bytes is special; may say so of bytes behind one that is. */
    private static long special(long block) {
        return (zero(block ^ PERCENT) | zero(block ^ BACKSLASH) | zero(block ^ NEWLINE)) & HIGHS;
    }

    /** A high bit is set for the first byte that is 0 (Warren, "Hacker's Delight", 6-1). */
    private static long zero(long block) {
        return block - ONES & ~block;
    }

    /** A set of hashed values that says yes too often. */
    private static final class BitTable {
        private final long[] words;
        private final int shift;

        /**
         * An empty set.
         *
         * @param perValue bits for each value
         * @param most binary logarithm of the bits at most
         */
        BitTable(long values, int perValue, int most) {
            int wanted = 64 - Long.numberOfLeadingZeros(Math.max(1, values * perValue - 1));
            int log = Math.clamp(wanted, 13, most);
            shift = 64 - log;
            words = new long[1 << (log - 6)];
        }

        void add(long hashed) {
            int bit = (int) (hashed >>> shift);
            words[bit >>> 6] |= 1L << bit;
        }

        boolean has(long hashed) {
            return (bit(hashed) & 1) != 0;
        }

        /** In the lowest bit; the others mean nothing. */
        long bit(long hashed) {
            int bit = (int) (hashed >>> shift);
            return words[bit >>> 6] >>> bit;
        }
    }
}
