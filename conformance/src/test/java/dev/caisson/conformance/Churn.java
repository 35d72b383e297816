package dev.caisson.conformance;

import dev.caisson.api.Caisson;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.embedded.EmbeddedCaisson;
import java.time.Duration;

/** A program that makes sandboxes until it is killed, and says which. */
final class Churn {
    private Churn() {}

    public static void main(String[] args) {
        try (Caisson caisson = EmbeddedCaisson.open()) {
            for (; ; ) {
                try (Sandbox sandbox = caisson.create(Lab.spec(limits -> limits))) {
                    System.out.println(sandbox.id());
                    sandbox.start(ExecSpec.shell("setsid sleep 50 & yes | head -c 1m; sleep 50"))
                            .await(Duration.ofMillis(40));
                    sandbox.files().write("/work/x", new byte[100_000]);
                }
            }
        }
    }
}
