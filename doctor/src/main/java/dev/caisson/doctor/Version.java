package dev.caisson.doctor;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A version of two or three numbers. */
record Version(int major, int minor, int patch) implements Comparable<Version> {
    private static final Pattern NUMBERS =
            Pattern.compile("(?<![0-9.])([0-9]{1,4})\\.([0-9]{1,4})(?:\\.([0-9]{1,4}))?");

    /** The first one in a text. */
    static Optional<Version> find(String text) {
        Matcher numbers = NUMBERS.matcher(text);
        if (!numbers.find()) {
            return Optional.empty();
        }
        String patch = numbers.group(3);
        return Optional.of(
                new Version(
                        Integer.parseInt(numbers.group(1)),
                        Integer.parseInt(numbers.group(2)),
                        patch == null ? 0 : Integer.parseInt(patch)));
    }

    static List<Version> list(String... texts) {
        return Arrays.stream(texts).map(text -> find(text).orElseThrow()).toList();
    }

    /**
     * Whether this has what the fixed versions have: at least that of its own branch, or newer than
     * all of them.
     *
     * @param fixed the first good version of each branch, oldest first
     */
    boolean has(List<Version> fixed) {
        for (Version one : fixed) {
            if (one.major == major && one.minor == minor) {
                return compareTo(one) >= 0;
            }
        }
        return compareTo(fixed.getLast()) > 0;
    }

    @Override
    public int compareTo(Version other) {
        int order = Integer.compare(major, other.major);
        order = order == 0 ? Integer.compare(minor, other.minor) : order;
        return order == 0 ? Integer.compare(patch, other.patch) : order;
    }

    @Override
    public String toString() {
        return major + "." + minor + "." + patch;
    }
}
