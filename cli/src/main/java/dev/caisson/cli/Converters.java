package dev.caisson.cli;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.OnOutputLimit;
import dev.caisson.api.Tier;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;

/** How values of options are read: what people write, {@code 512m}, {@code 60s}. */
final class Converters {
    private Converters() {}

    /** {@code 512m}. */
    static final class Size implements ITypeConverter<ByteSize> {
        @Override
        public ByteSize convert(String text) {
            return ByteSize.parse(text);
        }
    }

    /** Whether commands may be root inside, as the API says it. */
    static final class Root implements ITypeConverter<String> {
        @Override
        public String convert(String text) {
            if (!text.equals("denied") && !text.equals("allowed")) {
                throw malformed(text, "choice", "Write denied or allowed.");
            }
            return text;
        }
    }

    /** {@code 128k}, in steps of 1024 as sizes are. */
    static final class Count implements ITypeConverter<Long> {
        @Override
        public Long convert(String text) {
            if (text.toLowerCase(Locale.ROOT).endsWith("b")) {
                throw malformed(text, "number", "Write a number, if need be with k or m: 128k.");
            }
            return ByteSize.parse(text).bytes();
        }
    }

    /** {@code 1500ms}, {@code 60s}, {@code 1.5m}, {@code 2h}; a bare number means seconds. */
    static final class Time implements ITypeConverter<Duration> {
        private static final Pattern FORM =
                Pattern.compile("([0-9]{1,12}(?:\\.[0-9]{1,9})?)(ms|s|m|h|d)?");

        @Override
        public Duration convert(String text) {
            Matcher form = FORM.matcher(text);
            if (!form.matches()) {
                throw malformed(text, "time", "Write a number with ms, s, m, h or d: 60s.");
            }
            String unit = form.group(2) == null ? "s" : form.group(2);
            long nanosPerUnit =
                    switch (unit) {
                        case "ms" -> 1_000_000L;
                        case "m" -> 60_000_000_000L;
                        case "h" -> 3_600_000_000_000L;
                        case "d" -> 86_400_000_000_000L;
                        default -> 1_000_000_000L;
                    };
            BigDecimal nanos =
                    new BigDecimal(form.group(1)).multiply(BigDecimal.valueOf(nanosPerUnit));
            if (nanos.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0) {
                throw malformed(text, "time", "The longest is 365d.");
            }
            return Duration.ofNanos(nanos.longValue());
        }
    }

    /** A whole number of descriptors or processes. */
    static final class Whole implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String text) {
            try {
                return Integer.parseInt(text);
            } catch (NumberFormatException e) {
                throw malformed(text, "whole number", "Write it with digits only: 256.");
            }
        }
    }

    /** {@code 0.5}. */
    static final class Cores implements ITypeConverter<Double> {
        private static final Pattern FORM = Pattern.compile("[0-9]{1,4}(\\.[0-9]{1,6})?");

        @Override
        public Double convert(String text) {
            if (!FORM.matcher(text).matches()) {
                throw malformed(text, "number of cores", "Write 2 or 0.5.");
            }
            return Double.valueOf(text);
        }
    }

    /** {@code truncate} or {@code kill}. */
    static final class OutputAction implements ITypeConverter<OnOutputLimit> {
        @Override
        public OnOutputLimit convert(String text) {
            for (OnOutputLimit action : OnOutputLimit.values()) {
                if (action.value().equals(text)) {
                    return action;
                }
            }
            throw malformed(text, "choice", "Write truncate or kill.");
        }
    }

    /** {@code container}, {@code gvisor} … */
    static final class TierName implements ITypeConverter<Tier> {
        @Override
        public Tier convert(String text) {
            Tier tier = Tier.of(text.toLowerCase(Locale.ROOT));
            if (tier == Tier.UNKNOWN) {
                throw malformed(text, "tier", "Write container, gvisor, microvm or auto.");
            }
            return tier;
        }
    }

    private static CaissonException malformed(String text, String kind, String remedy) {
        return CaissonException.of(ErrorCode.INVALID, "'" + text + "' is not a " + kind + ".")
                .withRemedy(remedy);
    }
}
