package dev.caisson.core;

import dev.caisson.api.EventType;
import java.util.Map;

/** Tells how many secrets were taken out of what left a sandbox; never which. */
record RedactionEvents(Reporter reporter) implements ExecObserver {
    @Override
    public void redacted(long count) {
        reporter.emit(EventType.SECRET_REDACTED, "output", () -> Map.of("count", count));
    }

    /** In files. */
    void inFile(String path, long count) {
        if (count > 0) {
            reporter.emit(
                    EventType.SECRET_REDACTED, "file", () -> Map.of("path", path, "count", count));
        }
    }
}
