package dev.caisson.egress;

import java.io.IOException;

/** The program inside did not bring the body of its request to its end. */
final class RequestBodyException extends IOException {
    private static final long serialVersionUID = 1;

    RequestBodyException(IOException cause) {
        super(cause);
    }
}
