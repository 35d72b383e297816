package dev.caisson.core;

import java.io.IOException;

/** A peer sent what the protocol does not allow; the connection is of no more use. */
public final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1;

    /** Says what was wrong. */
    public ProtocolException(String message) {
        super(message);
    }

    /** Says what was wrong. */
    public ProtocolException(String message, Throwable cause) {
        super(message, cause);
    }
}
