package dev.caisson.api;

/** Told what happens in a run. */
public interface RunListener extends ExecListener {
    /** Listens to nothing. */
    RunListener NONE = new RunListener() {};

    /** The sandbox is there. */
    default void sandboxStarted(Sandbox sandbox) {}

    /**
     * Progress of copying in, at most about ten times a second.
     *
     * @param totalBytes what all files have together
     */
    default void copiedIn(long bytes, long totalBytes) {}

    /**
     * Progress of copying out, at most about ten times a second.
     *
     * @param totalBytes what all files have together, as the sandbox tells it
     */
    default void copiedOut(long bytes, long totalBytes) {}
}
