package dev.caisson.api;

/** What happens to output that nobody takes in time. */
public enum Overflow {
    /** The program waits. */
    WAIT,
    /** Bytes are dropped and counted; {@link ExecListener#gap} tells. */
    DROP
}
