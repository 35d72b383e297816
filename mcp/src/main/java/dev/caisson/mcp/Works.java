package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What was started through the Java API, while it runs, and the last ones that ended. */
final class Works {
    private static final int KEPT = 64;

    // Guarded by this; oldest first.
    private final Map<String, Work> works = new LinkedHashMap<>();

    synchronized Work keep(Work work) {
        if (works.size() >= KEPT) {
            String oldest =
                    works.values().stream()
                            .filter(one -> one.status().over())
                            .map(Work::id)
                            .findFirst()
                            .orElse("");
            works.remove(oldest);
        }
        works.put(work.id(), work);
        return work;
    }

    synchronized Work find(String id) {
        Work work = works.get(id);
        if (work == null) {
            throw CaissonException.of(
                            ErrorCode.NOT_FOUND, "There is no command '" + id + "' any more.")
                    .withRemedy("The last " + KEPT + " of a session are kept; run it again.");
        }
        return work;
    }

    void close() {
        List<Work> all;
        synchronized (this) {
            all = new ArrayList<>(works.values());
            works.clear();
        }
        all.forEach(Work::kill);
    }
}
