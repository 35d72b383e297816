package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs that do not want to end. */
class EndOfExecTest {
    /** Leaves a sleeper behind that is in a session of its own and nobody's child. */
    private static final String DAEMON =
            """
            import os, sys
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    null = os.open('/dev/null', 2)
                    for fd in (0, 1, 2): os.dup2(null, fd)
                    os.execvp('sleep', ['sleep', sys.argv[1]])
                os._exit(0)
            os.wait()
            print('left')
            """;

    private static ExecSpec daemon(String seconds) {
        Lab.needs("python3");
        return ExecSpec.of("/usr/bin/python3", "-c", DAEMON, seconds);
    }

    private static Duration since(Instant before) {
        return Duration.between(before, Instant.now());
    }

    private static Set<Long> sleepers(String seconds) {
        return HostView.withArgument("sleep\0" + seconds);
    }

    @Test
    @DisplayName(
            "L01 a program that ignores SIGTERM is killed when its grace is over; one that does not"
                    + " ends before")
    void ignoredSigtermIsKilled() {
        Duration timeout =
                Duration.ofSeconds(3); // from the request on: on a busy host it starts late
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecSpec stubborn =
                    ExecSpec.shell("trap '' TERM INT HUP; while :; do sleep 0.1; done")
                            .withTimeout(timeout)
                            .withGrace(Duration.ofSeconds(1));
            Instant before = Instant.now();
            ExecResult killed = sandbox.exec(stubborn);

            assertThat(since(before)).isBetween(Duration.ofMillis(3900), Duration.ofSeconds(6));
            assertThat(killed.reason()).isEqualTo(ExecReason.TIMEOUT);
            assertThat(killed.signal()).hasValue(9);

            ExecSpec polite =
                    ExecSpec.shell("trap 'echo bye; exit 3' TERM; while :; do sleep 0.1; done")
                            .withTimeout(timeout)
                            .withGrace(Duration.ofSeconds(20));
            before = Instant.now();
            ExecResult ended = sandbox.exec(polite);

            assertThat(since(before)).isLessThan(Duration.ofSeconds(10));
            assertThat(ended.reason()).isEqualTo(ExecReason.TIMEOUT);
            assertThat(ended.exitCode()).hasValue(3);
            assertThat(ended.stdout().text()).isEqualTo("bye\n");
        }
    }

    @Test
    @DisplayName(
            "L03 a client that gives up takes the whole tree of its exec with it, and no other"
                    + " exec")
    void cancelEndsTheWholeTree() {
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec other = sandbox.start(ExecSpec.of("sleep", "21.125"));
            Exec tree =
                    sandbox.start(
                            ExecSpec.shell(
                                    "setsid sleep 21.25 & (sleep 21.25 &) ; nohup sleep 21.25 &"
                                            + " wait"));
            await().until(() -> sleepers("21.25").size() == 3 && sleepers("21.125").size() == 1);

            tree.cancel();

            assertThat(tree.await().reason()).isEqualTo(ExecReason.CANCELLED);
            assertThat(sleepers("21.25")).isEmpty();
            assertThat(sleepers("21.125")).hasSize(1);
            other.kill();
        }
    }

    @Test
    @DisplayName(
            "L04 a double-forked daemon dies with its exec; with linger it lives as long as its"
                    + " sandbox")
    void daemonDiesWithItsExec() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(sandbox.exec(daemon("22.125")).stdout().text()).isEqualTo("left\n");
            // It was killed before the end was told; dying may take it a moment.
            await().atMost(Duration.ofSeconds(5)).until(() -> sleepers("22.125").isEmpty());

            assertThat(sandbox.exec(daemon("22.25").withLinger(true)).stdout().text())
                    .isEqualTo("left\n");
            assertThat(sleepers("22.25")).hasSize(1);
        }
        assertThat(sleepers("22.25")).isEmpty();
    }

    @Test
    @DisplayName(
            "L06 an exec ends with its main process, not with the last holder of its pipe; outside"
                    + " a reader waits")
    void heldPipeDoesNotHoldTheExec() throws Exception {
        try (Sandbox sandbox = Lab.sandbox()) {
            Instant before = Instant.now();
            ExecResult result = Lab.sh(sandbox, "sleep 23 & echo done");
            assertThat(result.stdout().text()).isEqualTo("done\n");
            assertThat(since(before)).isLessThan(Duration.ofSeconds(4));

            before = Instant.now();
            ExecResult lingering =
                    sandbox.exec(ExecSpec.shell("sleep 23 & echo done").withLinger(true));
            assertThat(lingering.stdout().text()).isEqualTo("done\n");
            assertThat(since(before)).isLessThan(Duration.ofSeconds(8));
        }
        Instant before = Instant.now();
        assertThat(Lab.outside("sh", "-c", "(sleep 3 & echo done) | cat").text())
                .isEqualTo("done\n");
        assertThat(since(before)).isGreaterThan(Duration.ofSeconds(2));
    }

    @ParameterizedTest(name = "L07 {0} keeps nothing alive")
    @ValueSource(
            strings = {
                "prctl(36, 1)",
                "prctl(1, 0)",
                "prctl(1, 19)",
                "prctl(4, 0)",
                "setsid()",
                "setpgid(0, 0)"
            })
    void processGamesKeepNothingAlive(String call) {
        String game =
                """
                import ctypes, os, signal, time
                libc = ctypes.CDLL(None)
                libc.%s
                for number in range(1, 64):
                    try: signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError): pass
                for i in range(3):
                    if os.fork() == 0:
                        libc.%s
                        break
                os.fork()
                time.sleep(25)
                """
                        .formatted(call, call);
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec exec = sandbox.start(Lab.pythonSpec(game));
            await().until(() -> HostView.pids(sandbox.id()) >= 9);
            // Control: a signal that can be ignored ends none of them.
            exec.signal(Exec.SIGTERM);
            assertThat(exec.await(Duration.ofMillis(200))).isEmpty();
            assertThat(HostView.pids(sandbox.id())).isGreaterThanOrEqualTo(9);

            exec.kill();

            assertThat(exec.await().reason()).isEqualTo(ExecReason.KILLED);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
        }
    }

    /** Children that their parent stopped by ptrace, and a parent that stopped itself. */
    private static final String TRACED =
            """
            import ctypes, os, signal, time
            libc = ctypes.CDLL(None, use_errno=True)
            children = []
            for i in range(4):
                child = os.fork()
                if child == 0:
                    time.sleep(25); os._exit(0)
                children.append(child)
            for child in children:
                if libc.ptrace(16, child, None, None) == 0: os.waitpid(child, 0)
            print('traced', flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(25)
            """;

    @Test
    @DisplayName("L10 a tree whose tracer stopped it, and itself, is killed all the same")
    void tracedTreeIsKilled() {
        try (Sandbox sandbox = Lab.sandbox()) {
            Exec exec = sandbox.start(Lab.pythonSpec(TRACED));
            // Control: they are stopped indeed, as the host sees.
            await().until(() -> states(sandbox, 't') == 4 && states(sandbox, 'T') == 1);

            exec.kill();

            assertThat(exec.await().reason()).isEqualTo(ExecReason.KILLED);
            assertThat(HostView.pids(sandbox.id())).isLessThanOrEqualTo(2);
        }
    }

    @Test
    @DisplayName(
            "L10 a sandbox ends although its processes are stopped by ptrace, and its timeout"
                    + " works")
    void tracedTreeDoesNotHoldTheSandbox() {
        Sandbox sandbox = Lab.sandbox();
        ExecResult result =
                sandbox.exec(
                        Lab.pythonSpec(TRACED)
                                .withTimeout(Duration.ofSeconds(2))
                                .withGrace(Duration.ofMillis(300)));
        assertThat(result.reason()).isEqualTo(ExecReason.TIMEOUT);
        sandbox.start(Lab.pythonSpec(TRACED));
        await().until(() -> states(sandbox, 't') == 4);
        Set<Long> before = HostView.processes(sandbox.id());

        sandbox.close();

        assertThat(HostView.all().keySet()).doesNotContainAnyElementsOf(before);
    }

    private static long states(Sandbox sandbox, char state) {
        Set<Long> inside = HostView.processes(sandbox.id());
        return HostView.all().values().stream()
                .filter(seen -> inside.contains(seen.pid()) && seen.state() == state)
                .count();
    }

    @Test
    @DisplayName("L24 what has ended answers with typed errors, and ends but once")
    void endedSandboxAnswersWithTypedErrors() throws Exception {
        Sandbox sandbox = Lab.sandbox();
        Exec running = sandbox.start(ExecSpec.of("sleep", "24"));
        Exec ended = sandbox.start(ExecSpec.of("true"));
        ended.await();
        // Control: while it lives all of this works.
        ended.kill();
        ended.signal(15);
        assertThat(sandbox.files().list("/work")).isEmpty();
        assertThat(running.await(Duration.ofMillis(100))).isEmpty();

        sandbox.close();
        sandbox.close();

        assertThat(running.await().reason()).isEqualTo(ExecReason.SANDBOX_ENDED);
        Errors.assertEnded(() -> sandbox.exec("true"));
        Errors.assertEnded(() -> sandbox.start(ExecSpec.of("true")).await());
        Errors.assertEnded(() -> sandbox.files().list("/work"));
        Errors.assertEnded(() -> sandbox.files().write("/work/x", "x"));
        running.kill();
        running.cancel();
        running.signal(9);
        assertThat(sandbox.onEnd().toCompletableFuture().get(5, TimeUnit.SECONDS).value())
                .isEqualTo("deleted");
        assertThat(
                        HostView.cgroups(sandbox.id()).values().stream()
                                .flatMap(folder ->
                                        HostView.text(folder.resolve("cgroup.procs")).stream())
                                .filter(text -> !text.isEmpty()))
                .isEmpty();
    }
}
