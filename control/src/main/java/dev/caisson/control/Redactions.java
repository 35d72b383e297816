package dev.caisson.control;

import dev.caisson.core.HostedSandbox;
import dev.caisson.redact.Redactor;
import java.util.Arrays;
import java.util.List;

/**
 * Keeps what is taken out of the output of sandboxes up to date with the secrets that they use.
 * Thread-safe.
 */
final class Redactions {
    private final SecretUses secrets;
    private final Boxes boxes;

    Redactions(SecretUses secrets, Boxes boxes) {
        this.secrets = secrets;
        this.boxes = boxes;
        secrets.watch(this::changed);
    }

    private void changed(String sandbox) {
        boxes.of(sandbox).map(Box::hostedOrNull).ifPresent(hosted -> hide(sandbox, hosted));
    }

    /** Before anything of the sandbox is read. */
    void hide(String sandbox, HostedSandbox hosted) {
        List<byte[]> values = secrets.valuesFor(sandbox);
        hosted.redaction().set(values.isEmpty() ? Redactor.NONE : Redactor.of(values));
        values.forEach(value -> Arrays.fill(value, (byte) 0));
    }
}
