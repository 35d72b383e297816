package dev.caisson.control;

import dev.caisson.v1.UsageRow;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What was used, by the hour. */
public interface UsageService {
    /**
     * Usage in whole hours, the present one included.
     *
     * @param by {@code tenant, sandbox, session, exec}
     */
    List<UsageRow> usage(
            Caller caller, Instant from, Instant to, String by, @Nullable String sandbox);
}
