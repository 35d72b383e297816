package dev.caisson.egress;

import java.io.IOException;

/** The other side could not be reached. */
final class UnreachableException extends IOException {
    private static final long serialVersionUID = 1;

    UnreachableException(IOException cause) {
        super(cause.getMessage(), cause);
    }
}
