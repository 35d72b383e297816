package dev.caisson.cli;

/** Numbers for people. */
final class Units {
    private static final String NAMES = "KMGTP";

    private Units() {}

    /** A size with one digit behind the point. */
    static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + "B";
        }
        double rest = bytes;
        int unit = -1;
        while (rest >= 1024 && unit < NAMES.length() - 1) {
            rest /= 1024;
            unit++;
        }
        return String.format(java.util.Locale.ROOT, "%.1f%c", rest, NAMES.charAt(unit));
    }
}
