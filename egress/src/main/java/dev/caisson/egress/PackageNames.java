package dev.caisson.egress;

import java.util.Locale;
import java.util.regex.Pattern;

/** The one form of packages' names. */
final class PackageNames {
    private static final Pattern SEPARATORS = Pattern.compile("[-_.]+");
    private static final Pattern NPM =
            Pattern.compile("(?:@[A-Za-z0-9._~-]{1,128}/)?[A-Za-z0-9._~-]{1,214}");
    private static final int MAX = 255;

    private PackageNames() {}

    /** That form of a name, or of the beginning of one. */
    static String normal(String ecosystem, String name) {
        // Python's names: PEP 503. The others have one form only.
        return ecosystem.equals("pypi")
                ? SEPARATORS.matcher(name.toLowerCase(Locale.ROOT)).replaceAll("-")
                : name;
    }

    static boolean isPypi(String normal) {
        return !normal.isEmpty()
                && normal.length() <= MAX
                && !normal.startsWith("-")
                && !normal.endsWith("-")
                && normal.chars()
                        .allMatch(c -> "-0123456789abcdefghijklmnopqrstuvwxyz".indexOf(c) >= 0);
    }

    static boolean isNpm(String name) {
        return NPM.matcher(name).matches() && !name.startsWith(".") && !name.equals("-");
    }
}
