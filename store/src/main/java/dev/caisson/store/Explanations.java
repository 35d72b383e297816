package dev.caisson.store;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;

/** Failures that are the same for every database, for people. */
final class Explanations {
    private Explanations() {}

    static CaissonException fenced(String node) {
        return CaissonException.of(
                        ErrorCode.INVALID_STATE,
                        "Another server was started as node '" + node + "' of this store.")
                .withRemedy("Stop one of the two, or give each a node name of its own.");
    }

    static CaissonException unclear(Throwable cause) {
        return CaissonException.of(
                        ErrorCode.INTERNAL,
                        "The store failed while it wrote: the change may or may not have been"
                                + " made.",
                        cause)
                .withRemedy(
                        "Look whether it is there before you repeat it. See the server's log, and"
                                + " restart it once the disk or the database is well again.")
                .withDetail("outcome", "unknown");
    }

    static CaissonException diskFull(String where, Throwable cause) {
        return CaissonException.of(
                        ErrorCode.HOST_DISK_FULL,
                        "The disk of the store (" + where + ") is full; nothing was changed.",
                        cause)
                .withRemedy("Free space there, then repeat the request.");
    }

    static CaissonException corrupt(String where, String remedy, Throwable cause) {
        return CaissonException.of(
                        ErrorCode.INTERNAL, "The store (" + where + ") is damaged.", cause)
                .withRemedy(remedy);
    }

    static CaissonException failed(String where, Throwable cause) {
        return CaissonException.of(
                ErrorCode.INTERNAL,
                "The store (" + where + ") failed: " + cause.getMessage(),
                cause);
    }
}
