package dev.caisson.cli;

import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;

/** Signals by the names and numbers of Linux on x86-64 and arm64; see signal(7). */
final class Signals {
    private static final int LAST = 64;
    private static final Map<String, Integer> NAMES =
            Map.ofEntries(
                    Map.entry("HUP", 1),
                    Map.entry("INT", 2),
                    Map.entry("QUIT", 3),
                    Map.entry("ABRT", 6),
                    Map.entry("KILL", 9),
                    Map.entry("USR1", 10),
                    Map.entry("USR2", 12),
                    Map.entry("PIPE", 13),
                    Map.entry("ALRM", 14),
                    Map.entry("TERM", 15),
                    Map.entry("CHLD", 17),
                    Map.entry("CONT", 18),
                    Map.entry("STOP", 19),
                    Map.entry("TSTP", 20),
                    Map.entry("TTIN", 21),
                    Map.entry("TTOU", 22),
                    Map.entry("WINCH", 28));

    private Signals() {}

    /** The number of {@code 15}, {@code TERM} or {@code SIGTERM}; empty: there is none of it. */
    static OptionalInt number(String text) {
        if (text.matches("[0-9]{1,3}")) {
            int number = Integer.parseInt(text);
            return number >= 1 && number <= LAST ? OptionalInt.of(number) : OptionalInt.empty();
        }
        String name = text.toUpperCase(Locale.ROOT).replaceFirst("^SIG", "");
        Integer number = NAMES.get(name);
        return number == null ? OptionalInt.empty() : OptionalInt.of(number);
    }
}
