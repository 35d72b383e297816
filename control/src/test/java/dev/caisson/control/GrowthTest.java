package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.v1.ExecRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** What a server holds after many sandboxes are gone: nothing. */
@Isolated("takes the whole machine")
final class GrowthTest {
    private static final int SANDBOXES = 2000;
    private static final int THREADS = 8;

    @TempDir private Path folder;

    @Test
    @Timeout(300)
    void holdsNothingOfWhatIsOver() throws Exception {
        try (FakeHost host = FakeHost.open(folder);
                var threads = Executors.newFixedThreadPool(THREADS)) {
            int before = host.held("timers");
            List<Future<Integer>> all =
                    IntStream.range(0, THREADS)
                            .mapToObj(i -> threads.submit(() -> some(host)))
                            .toList();
            for (Future<Integer> one : all) {
                assertThat(one.get()).isEqualTo(SANDBOXES / THREADS);
            }
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() ->
                            assertThat(host.service.held())
                                    .containsEntry("boxes", 0)
                                    .containsEntry("execs", 0)
                                    .containsEntry("places", 0)
                                    .containsEntry("runs", 0)
                                    .containsEntry("tunnels", 0)
                                    .containsEntry("timers", before));
            assertThat(host.launcher.living()).isZero();
        }
    }

    private static Integer some(FakeHost host) {
        for (int i = 0; i < SANDBOXES / THREADS; i++) {
            String id = host.create().id();
            String exec =
                    host.service
                            .execs()
                            .start(host.admin, id, ExecRequest.of(List.of("true")))
                            .id();
            if (i % 2 == 0) {
                host.service.execs().await(host.admin, exec, Duration.ofSeconds(20));
            }
            host.service.sandboxes().delete(host.admin, id);
        }
        return SANDBOXES / THREADS;
    }
}
