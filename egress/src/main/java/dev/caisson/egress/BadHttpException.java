package dev.caisson.egress;

import java.io.IOException;

/** The other side does not speak HTTP as it is written; nothing of the message is used. */
final class BadHttpException extends IOException {
    private static final long serialVersionUID = 1;

    private final int status;

    /**
     * A message that is refused.
     *
     * @param status to answer with when it was a request
     */
    BadHttpException(int status, String message) {
        super(message);
        this.status = status;
    }

    int status() {
        return status;
    }
}
