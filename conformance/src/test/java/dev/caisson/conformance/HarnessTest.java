package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * The means of observation see what they are to see; else all the tests here would prove nothing.
 */
class HarnessTest {
    @Test
    void hostSeesWhatRunsInASandboxAndThatItIsGone() {
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec exec = sandbox.start(ExecSpec.of("sleep", "30.125"));
            Awaitility.await().until(() -> !HostView.withArgument("30.125").isEmpty());

            assertThat(HostView.processes(sandbox.id()))
                    .containsAll(HostView.withArgument("30.125"));
            assertThat(HostView.tree(ProcessHandle.current().pid()))
                    .containsAll(HostView.withArgument("30.125"));
            assertThat(HostView.pids(sandbox.id())).isBetween(2L, 8L);
            assertThat(HostView.memory(sandbox.id())).isPositive();
            exec.kill();
            exec.await();
            assertThat(HostView.withArgument("30.125")).isEmpty();
        }
    }
}
