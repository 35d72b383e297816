package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is there before and after many sandboxes. */
@Isolated("counts what launchers hold")
@Timeout(180)
class CensusTest {
    /** Lives of a sandbox, and how many of each. */
    enum Lives {
        /** Created, used, closed, one after another. */
        ORDINARY(150),
        /** Created by several threads at once. */
        CONCURRENT(120),
        /** Closed while an exec with children runs. */
        BUSY(40),
        /** A run whose caller is interrupted at some moment of its start (L12). */
        INTERRUPTED(60);

        private final int times;

        Lives(int times) {
            this.times = times;
        }
    }

    private static void live(Lives lives, Caisson caisson, Random random) throws Exception {
        switch (lives) {
            case ORDINARY, CONCURRENT -> {
                try (Sandbox sandbox = caisson.create(Lab.spec(limits -> limits))) {
                    assertThat(sandbox.exec("true").succeeded()).isTrue();
                }
            }
            case BUSY -> {
                try (Sandbox sandbox = caisson.create(Lab.spec(limits -> limits))) {
                    Exec exec =
                            sandbox.start(
                                    ExecSpec.shell(
                                            "yes >/dev/null & setsid sleep 60 & cat /dev/zero"));
                    exec.await(Duration.ofMillis(random.nextInt(30)));
                }
            }
            case INTERRUPTED -> interrupt(caisson, random);
        }
    }

    private static void interrupt(Caisson caisson, Random random) throws Exception {
        CompletableFuture<CaissonException> failure = new CompletableFuture<>();
        RunSpec run = RunSpec.command("sleep", "60").withSandbox(Lab.spec(limits -> limits));
        Thread caller =
                Thread.ofPlatform()
                        .start(() -> {
                            try {
                                caisson.run(run);
                            } catch (CaissonException e) {
                                failure.complete(e);
                            }
                        });
        TimeUnit.MICROSECONDS.sleep(random.nextInt(25_000));
        caller.interrupt();
        assertThat(caller.join(Duration.ofSeconds(15))).isTrue();
        assertThat(failure).isCompleted();
        assertThat(failure.join().code())
                .as(failure.join()::toString)
                .isEqualTo(ErrorCode.CANCELLED);
    }

    private static void all(Lives lives, Caisson caisson) throws Exception {
        int threads = lives == Lives.CONCURRENT ? 8 : 1;
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<?>> futures = new ArrayList<>();
            for (int i = 0; i < lives.times; i++) {
                int seed = i;
                futures.add(
                        pool.submit(() -> {
                            live(lives, caisson, new Random(seed));
                            return null;
                        }));
            }
            for (Future<?> future : futures) {
                future.get();
            }
        }
    }

    @ParameterizedTest(
            name =
                    "L14 L12 R33 after many sandboxes ({0}) everything is as before, and after the"
                            + " end nothing is left")
    @EnumSource
    void everythingIsAsBefore(Lives lives) throws Exception {
        Lab.needsSandboxes();
        long self = ProcessHandle.current().pid();
        Set<Long> others = LauncherView.of(self);
        LauncherView launcher;
        Set<String> made;
        try (Caisson caisson = Lab.open()) {
            Set<Long> ours = new TreeSet<>(LauncherView.of(self));
            ours.removeAll(others);
            assertThat(ours).hasSize(1);
            launcher = new LauncherView(ours.iterator().next());
            live(Lives.ORDINARY, caisson, new Random(0));
            live(Lives.INTERRUPTED, caisson, new Random(0));
            LauncherView.Census before = settled(launcher);
            // Control: one sandbox that lives shows in the census.
            try (Sandbox sandbox = caisson.create(Lab.spec(limits -> limits))) {
                assertThat(sandbox.exec("true").succeeded()).isTrue();
                assertThat(settled(launcher)).isNotEqualTo(before);
                assertThat(settled(launcher).processes()).isGreaterThan(before.processes());
                assertThat(settled(launcher).sandboxes()).isEqualTo(before.sandboxes() + 1);
            }

            all(lives, caisson);

            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() ->
                            assertThat(launcher.census().atLeast(before))
                                    .as(() -> launcher.describe())
                                    .isEqualTo(before));
            assertThat(caisson.sandboxes()).isEmpty();
            made = launcher.made();
            assertThat(made.size()).isGreaterThan(lives.times / 4);
            Set<String> gone = new TreeSet<>(made);
            gone.removeAll(launcher.living());
            assertThat(gone).allMatch(id -> HostView.cgroups(id).isEmpty());
        }
        await().until(() -> HostView.tree(launcher.pid()).isEmpty());
        assertThat(launcher.instances()).isEmpty();
        assertThat(made).allMatch(id -> HostView.cgroups(id).isEmpty());
    }

    /** The census when it is the same three times in a row. */
    private static LauncherView.Census settled(LauncherView launcher) throws InterruptedException {
        LauncherView.Census last = launcher.census();
        for (int same = 0, tries = 0; same < 3 && tries < 100; tries++) {
            TimeUnit.MILLISECONDS.sleep(100);
            LauncherView.Census now = launcher.census();
            same = now.equals(last) ? same + 1 : 0;
            last = now;
        }
        return last;
    }

    @Test
    @DisplayName(
            "L24 a sandbox that is closed by many at once, during an exec, ends once; its id is"
                    + " never given again")
    void closedByManyEndsOnce() throws Exception {
        Set<String> ids = new TreeSet<>();
        for (int round = 0; round < 10; round++) {
            Sandbox sandbox = Lab.sandbox();
            assertThat(ids.add(sandbox.id())).isTrue();
            Exec exec = sandbox.start(ExecSpec.of("sleep", "60"));
            List<Thread> closers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                closers.add(Thread.ofVirtual().start(sandbox::close));
            }
            for (Thread closer : closers) {
                assertThat(closer.join(Duration.ofSeconds(10))).isTrue();
            }
            assertThat(exec.await().reason().value()).isEqualTo("sandbox_ended");
            Errors.assertEnded(() -> sandbox.exec("true"));
        }
    }
}
