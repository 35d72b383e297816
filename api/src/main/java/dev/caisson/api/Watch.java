package dev.caisson.api;

/** A folder that is watched. */
public interface Watch extends AutoCloseable {
    /** Ends it; a call that is under way is not waited for. Does nothing the second time. */
    @Override
    void close();
}
