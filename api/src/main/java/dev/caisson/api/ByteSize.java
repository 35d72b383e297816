package dev.caisson.api;

import java.util.Locale;

/**
 * A number of bytes.
 *
 * @param bytes at least 0
 */
public record ByteSize(long bytes) implements Comparable<ByteSize> {
    private static final String UNITS = "kmgt";

    /** Refuses negative numbers. */
    public ByteSize {
        if (bytes < 0) {
            throw CaissonException.invalid("bytes", "A size cannot be negative: " + bytes);
        }
    }

    /** That many bytes. */
    public static ByteSize of(long bytes) {
        return new ByteSize(bytes);
    }

    /** That many times 1024 bytes. */
    public static ByteSize ofKib(long kib) {
        return new ByteSize(Math.multiplyExact(kib, 1L << 10));
    }

    /** That many times 1024² bytes. */
    public static ByteSize ofMib(long mib) {
        return new ByteSize(Math.multiplyExact(mib, 1L << 20));
    }

    /** That many times 1024³ bytes. */
    public static ByteSize ofGib(long gib) {
        return new ByteSize(Math.multiplyExact(gib, 1L << 30));
    }

    /**
     * Reads what people write: a number and optionally one of {@code k m g t} (times 1024),
     * optionally followed by {@code b} or {@code ib}; {@code 512m}, {@code 1.5g}, {@code 128k},
     * {@code 1000}.
     *
     * @throws CaissonException {@link ErrorCode#INVALID}
     */
    public static ByteSize parse(String text) {
        String lower = text.strip().toLowerCase(Locale.ROOT);
        int end = 0;
        // ASCII only: other digits read differently in other programs.
        while (end < lower.length() && "0123456789.".indexOf(lower.charAt(end)) >= 0) {
            end++;
        }
        String suffix = lower.substring(end);
        if (suffix.endsWith("ib") && suffix.length() == 3) {
            suffix = suffix.substring(0, 1);
        } else if (suffix.endsWith("b")) {
            suffix = suffix.substring(0, suffix.length() - 1);
        }
        int unit = suffix.length() == 1 ? UNITS.indexOf(suffix.charAt(0)) : -1;
        if (end == 0 || end > 20 || (unit < 0 && !suffix.isEmpty())) {
            throw malformed(text);
        }
        try {
            return new ByteSize(
                    new java.math.BigDecimal(lower.substring(0, end))
                            .multiply(java.math.BigDecimal.valueOf(1L << (10 * (unit + 1))))
                            .toBigInteger()
                            .longValueExact());
        } catch (ArithmeticException | NumberFormatException e) {
            throw malformed(text);
        }
    }

    private static CaissonException malformed(String text) {
        return CaissonException.of(ErrorCode.INVALID, "'" + text + "' is not a size.")
                .withRemedy("Write a number with k, m, g or t, for example 512m.");
    }

    @Override
    public int compareTo(ByteSize other) {
        return Long.compare(bytes, other.bytes);
    }

    /** The shortest exact form that {@link #parse} reads. */
    @Override
    public String toString() {
        long rest = bytes;
        int unit = 0;
        while (unit < UNITS.length() && rest != 0 && rest % 1024 == 0) {
            rest /= 1024;
            unit++;
        }
        return unit == 0 ? Long.toString(rest) : rest + UNITS.substring(unit - 1, unit);
    }
}
