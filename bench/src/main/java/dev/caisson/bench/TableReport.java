package dev.caisson.bench;

import java.io.PrintStream;
import java.util.OptionalDouble;

/** Rows as a table for people. */
final class TableReport implements Report {
    private static final String LINE = "%-28s %10s %-8s %-22s %10s %7s  %-15s %-5s %s%n";

    private final PrintStream out;

    TableReport(PrintStream out) {
        this.out = out;
        out.printf(
                LINE, "name", "value", "unit", "peer", "peer value", "ratio", "target", "met", "");
    }

    @Override
    public void row(Row row) {
        if (!row.skipped().isEmpty()) {
            out.printf("%-28s skipped: %s%n", row.name(), row.skipped());
            return;
        }
        out.printf(
                LINE,
                row.name(),
                text(row.value()),
                row.unit(),
                row.peer(),
                text(row.peerValue()),
                text(row.ratio()),
                row.target().map(Target::toString).orElse(""),
                row.met().map(met -> met ? "yes" : "NO").orElse(""),
                row.note());
        out.flush();
    }

    private static String text(OptionalDouble number) {
        return number.isPresent() ? Numbers.text(number.getAsDouble()) : "";
    }
}
