package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a caller's tenant has used; what is observed now is there within a few seconds. */
final class Usages implements UsageService {
    private static final Set<String> BY = Set.of("tenant", "sandbox", "session", "exec");
    private static final Duration LONGEST = Duration.ofDays(400);
    private static final int MAX_ROWS = 100_000;

    private final Ledger ledger;

    Usages(Ledger ledger) {
        this.ledger = ledger;
    }

    @Override
    public List<UsageRow> usage(
            Caller caller, Instant from, Instant to, String by, @Nullable String sandbox) {
        Access.require(caller, "usage:read");
        if (!BY.contains(by)) {
            throw CaissonException.invalid("by", "Usage cannot be summed by '" + by + "'.")
                    .withDetail("allowed", "tenant, sandbox, session, exec");
        }
        if (!from.isBefore(to) || from.isBefore(Instant.EPOCH) || tooLong(from, to)) {
            throw CaissonException.invalid(
                    "to", "The end must be behind the start, by at most 400 days.");
        }
        Instant first = from.truncatedTo(ChronoUnit.HOURS);
        List<UsageRow> rows =
                ledger.read(tx -> tx.usage(caller.tenant(), sandbox, first, to, by, MAX_ROWS + 1));
        if (rows.size() > MAX_ROWS) {
            // A part of it would make a wrong bill.
            throw CaissonException.invalid("to", "There are more than " + MAX_ROWS + " rows.")
                    .withRemedy("Ask for a shorter time, or sum by sandbox or tenant.");
        }
        return rows;
    }

    private static boolean tooLong(Instant from, Instant to) {
        return to.isAfter(Instant.parse("9999-01-01T00:00:00Z"))
                || Duration.between(from, to).compareTo(LONGEST) > 0;
    }
}
