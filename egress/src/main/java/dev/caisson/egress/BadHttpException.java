package dev.caisson.egress;

import java.io.IOException;

/** The other side does not speak HTTP as it is written; nothing of the message is used. */
final class BadHttpException extends IOException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String why;

    /**
     * A message that is refused.
     *
     * @param status to answer with when it was a request
     */
    BadHttpException(int status, String message) {
        super(message);
        this.status = status;
        this.why = message;
    }

    /** What is wrong, for people. */
    String why() {
        return why;
    }

    int status() {
        return status;
    }
}
