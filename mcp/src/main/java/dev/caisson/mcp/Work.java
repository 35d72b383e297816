package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.ResultJson;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A command that runs or ran. Safe for use by several threads. */
public interface Work {
    /** The id: of a run, or of an exec. */
    String id();

    /** How it stands. */
    Status status();

    /**
     * Waits for its end, at most that long.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#CANCELLED} when interrupted
     */
    Status await(Duration longest);

    /**
     * What it wrote, from a byte on; what is there now, without waiting for more.
     *
     * @param stderr standard error instead of standard output
     */
    Piece output(boolean stderr, long offset, int length);

    /** Kills all of it; nothing happens when it has ended. */
    void kill();

    /**
     * How it stands.
     *
     * @param state {@code starting, waiting_approval, running, ended, failed, lost}
     * @param sandbox where; null while it is not known
     * @param result once it ended
     * @param error why it did not run
     * @param approval what it waits for
     */
    record Status(
            String state,
            @Nullable String sandbox,
            @Nullable ResultJson result,
            @Nullable ErrorJson error,
            @Nullable String approval) {
        /** Whether nothing more comes. */
        public boolean over() {
            return switch (state) {
                case "ended", "failed", "lost" -> true;
                default -> false;
            };
        }
    }

    /**
     * A part of an output.
     *
     * @param offset of its first byte; more than was asked when older output is no longer kept
     */
    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    record Piece(byte[] bytes, long offset) {}
}
