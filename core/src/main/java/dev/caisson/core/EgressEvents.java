package dev.caisson.core;

import dev.caisson.api.EventType;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a gateway tells of the sandboxes of this process, handed on as their events. Other
 * processes' sandboxes, of which the gateway may tell as well, are passed over. Thread-safe.
 */
final class EgressEvents implements EgressListener {
    /** Sandboxes that are remembered: what happened in one may be told after its end. */
    private static final int MOST = 4_096;

    private final EgressDocuments documents;
    private final Map<String, Reporter> sandboxes =
            Collections.synchronizedMap(
                    new LinkedHashMap<>() {
                        @Override
                        protected boolean removeEldestEntry(Map.Entry<String, Reporter> eldest) {
                            return size() > MOST;
                        }
                    });

    EgressEvents(EgressDocuments documents) {
        this.documents = documents;
    }

    /** From now on the events of that sandbox go there. */
    void about(String sandbox, Reporter reporter) {
        sandboxes.put(sandbox, reporter);
    }

    @Override
    public void event(Event event) {
        EventType type = EventType.of(event.type());
        Reporter reporter = sandboxes.get(event.sandbox());
        if (reporter != null && type != EventType.UNKNOWN) {
            reporter.emit(type, event.reason(), () -> documents.data(event.data()));
        }
    }
}
