package dev.caisson.api;

/**
 * Receives every event of a {@link Caisson}, one at a time and in the order of {@link Event#seq()},
 * on the thread that caused it: return fast, and hand over what takes long. This sink is not
 * durable. What it throws is swallowed and counted; it never changes what a sandbox does.
 */
@FunctionalInterface
public interface EventSink {
    /** Drops everything. */
    EventSink NONE = event -> {};

    /** One step happened. */
    void accept(Event event);
}
