package dev.caisson.core;

import dev.caisson.api.EventType;
import java.util.Map;
import java.util.function.Supplier;

/** Takes events about one subject. Never blocks. */
@FunctionalInterface
interface Reporter {
    /**
     * Tells an event.
     *
     * @param data asked for when somebody listens
     */
    void emit(EventType type, String reason, Supplier<Map<String, Object>> data);
}
