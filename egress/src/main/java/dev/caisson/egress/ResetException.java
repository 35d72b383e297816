package dev.caisson.egress;

import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;

/** A stream is over before its end. */
final class ResetException extends IOException {
    private static final long serialVersionUID = 1;

    private final ResetReason reason;

    ResetException(ResetReason reason) {
        super(reason.name());
        this.reason = reason;
    }

    ResetReason reason() {
        return reason;
    }
}
