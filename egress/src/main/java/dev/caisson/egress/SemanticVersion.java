package dev.caisson.egress;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A version of npm (semver.org, 2.0.0, 11).
 *
 * @param before parts of what comes before the release; empty: it is one
 */
record SemanticVersion(List<BigInteger> numbers, List<String> before)
        implements Comparable<SemanticVersion> {
    private static final Pattern FORM =
            Pattern.compile(
                    "(\\d{1,16})\\.(\\d{1,16})\\.(\\d{1,16})"
                            + "(?:-([0-9A-Za-z.-]{1,200}))?(?:\\+[0-9A-Za-z.-]{1,200})?");
    private static final SemanticVersion NONE =
            new SemanticVersion(
                    List.of(BigInteger.ZERO, BigInteger.ZERO, BigInteger.ZERO), List.of("0"));
    private static final Comparator<String> PART =
            (a, b) -> {
                boolean first = isNumber(a);
                boolean second = isNumber(b);
                if (first && second) {
                    return new BigInteger(a).compareTo(new BigInteger(b));
                }
                return first == second ? a.compareTo(b) : first ? -1 : 1;
            };

    static Optional<SemanticVersion> parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        List<BigInteger> numbers = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            numbers.add(new BigInteger(matcher.group(i)));
        }
        String before = matcher.group(4);
        return Optional.of(
                new SemanticVersion(
                        numbers, before == null ? List.of() : List.of(before.split("\\.", -1))));
    }

    /** The newest release that is not newer than one, or else the newest of all. */
    static Optional<String> newest(Collection<String> versions, String most) {
        Optional<SemanticVersion> limit = parse(most);
        Comparator<String> order =
                Comparator.<String, Boolean>comparing(
                                text -> parse(text).filter(v -> fits(v, limit)).isPresent())
                        .thenComparing(text -> parse(text).orElse(NONE));
        return versions.stream().max(order);
    }

    private static boolean fits(SemanticVersion version, Optional<SemanticVersion> limit) {
        return version.before.isEmpty() && (limit.isEmpty() || version.compareTo(limit.get()) <= 0);
    }

    private static boolean isNumber(String part) {
        return !part.isEmpty() && part.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    @Override
    public int compareTo(SemanticVersion other) {
        for (int i = 0; i < numbers.size(); i++) {
            int order = numbers.get(i).compareTo(other.numbers.get(i));
            if (order != 0) {
                return order;
            }
        }
        if (before.isEmpty() || other.before.isEmpty()) {
            return Boolean.compare(before.isEmpty(), other.before.isEmpty());
        }
        for (int i = 0; i < Math.min(before.size(), other.before.size()); i++) {
            int order = PART.compare(before.get(i), other.before.get(i));
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(before.size(), other.before.size());
    }
}
