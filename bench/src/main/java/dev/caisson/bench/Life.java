package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Sandbox;

/** The life that most rows measure: create, exec {@code /bin/true}, destroy. */
final class Life {
    private Life() {}

    /** One whole life; the id of the sandbox. */
    static String once(Caisson caisson) {
        try (Sandbox sandbox = caisson.create()) {
            execTrue(sandbox);
            return sandbox.id();
        }
    }

    /** Runs {@code /bin/true} and sees that it ran. */
    static void execTrue(Sandbox sandbox) {
        ExecResult result = sandbox.exec("/bin/true");
        if (result.exitCode().orElse(-1) != 0) {
            throw new IllegalStateException("/bin/true ended with " + result);
        }
    }
}
