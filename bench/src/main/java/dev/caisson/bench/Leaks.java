package dev.caisson.bench;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Compares a census with one before. */
final class Leaks {
    private static final int TOLD = 8;

    private Leaks() {}

    /** What differs, after giving it time to be equal: others may run something meanwhile. */
    static List<String> since(Census before, List<Path> folders, Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        List<String> changes = Census.take(folders).changesSince(before);
        while (!changes.isEmpty() && System.nanoTime() < deadline) {
            Pace.rest(Duration.ofMillis(200));
            changes = Census.take(folders).changesSince(before);
        }
        return new ArrayList<>(changes);
    }

    /** The row of a census. */
    static Row row(String name, List<String> leaks, Census before) {
        return Row.of(name, leaks.size(), "changes")
                .withTarget(Target.valueAtMost(0))
                .withNote(leaks.isEmpty() ? told(before) : few(leaks));
    }

    private static String few(List<String> changes) {
        String told = String.join("; ", changes.subList(0, Math.min(TOLD, changes.size())));
        return changes.size() > TOLD ? told + "; and " + (changes.size() - TOLD) + " more" : told;
    }

    private static String told(Census census) {
        List<String> parts = new ArrayList<>();
        for (String kind :
                List.of("process", "cgroup", "mount", "loop", "namespace", "descriptor", "file")) {
            parts.add(kind + " " + census.total(kind));
        }
        return "before and after: " + String.join(", ", parts);
    }
}
