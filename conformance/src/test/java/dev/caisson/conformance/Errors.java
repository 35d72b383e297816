package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Typed failures. */
final class Errors {
    private Errors() {}

    /** The call fails because the sandbox has ended. */
    static void assertEnded(ThrowingCallable call) {
        assertThatExceptionOfType(CaissonException.class)
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_ENDED));
    }
}
