package dev.caisson.bench;

import java.util.Locale;

/** Numbers as people read them: about three digits, the same in every locale. */
final class Numbers {
    private Numbers() {}

    static String text(double number) {
        if (number == Math.rint(number) && Math.abs(number) < 1e6) {
            return String.format(Locale.ROOT, "%.0f", number);
        }
        double size = Math.abs(number);
        String format = size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.4f";
        return String.format(Locale.ROOT, format, number);
    }
}
