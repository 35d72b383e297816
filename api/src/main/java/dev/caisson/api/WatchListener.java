package dev.caisson.api;

/**
 * Told what happens in a watched folder. Calls come one at a time, in order, from a thread of this
 * library that belongs to the watch. What a method throws ends the watch.
 */
public interface WatchListener {
    /** Something happened. */
    void event(WatchEvent event);

    /**
     * Events were lost here, because there were too many, the listener was too slow, or the
     * connection to the sandbox broke for a while: look at the folder again.
     */
    default void overflow() {}

    /**
     * Nothing more will be told, and {@link Watch#close} was not called: the folder is gone, or the
     * sandbox.
     */
    default void ended(CaissonException cause) {}
}
