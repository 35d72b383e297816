package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a request with a key has made is found by the next one, though its answer was lost. */
final class MakingTest {
    private static final String ROUTE = "POST /v1/x";

    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
    }

    @AfterEach
    void close() {
        host.close();
    }

    private static Idempotency.Answer known(FakeHost server, String key) {
        return server.service.idempotency().begin(server.admin, ROUTE, key, "h").orElseThrow();
    }

    private String made(String key, Supplier<String> work) {
        Idempotency answers = host.service.idempotency();
        assertThat(answers.begin(host.admin, ROUTE, key, "h")).isEmpty();
        return answers.during(host.admin, ROUTE, key, work::get);
    }

    private void leave(String key) {
        host.service.idempotency().leave(host.admin, ROUTE, key);
    }

    @Test
    void aSandboxIsFoundWhenItsAnswerCouldNotBeKept() {
        String id = made("k", () -> host.create().id());
        Fixture.refused(ErrorCode.CONFLICT, () -> known(host, "k"));
        leave("k");
        assertThat(known(host, "k")).isEqualTo(Idempotency.Answer.ofMade(id));
        assertThat(known(host, "k").made()).isEqualTo(id);
        Fixture.refused(
                ErrorCode.IDEMPOTENCY_MISMATCH,
                () -> host.service.idempotency().begin(host.admin, ROUTE, "k", "other"));
    }

    @Test
    void aSandboxOfAPoolIsFoundToo() {
        PoolService pools = host.service.pools();
        pools.create(host.admin, new PoolRequest("p", null, null, null, null, 1, null));
        Awaitility.await().until(() -> pools.find(host.admin, "p").ready() == 1);
        String id = made("k", () -> host.create().id());
        assertThat(pools.find(host.admin, "p").claimed()).isEqualTo(1);
        leave("k");
        assertThat(known(host, "k").made()).isEqualTo(id);
    }

    @Test
    void runsAndExecsAreFoundAfterACrash() {
        String sandbox = host.create().id();
        String run = made("run", () -> host.service.runs().start(host.admin, sleep()).id());
        String exec =
                made(
                        "exec",
                        () -> {
                            ExecRequest request = ExecRequest.of(List.of("sleep"));
                            ExecService execs = host.service.execs();
                            String id = execs.start(host.admin, sandbox, request).id();
                            execs.settle(host.admin, id);
                            return id;
                        });
        try (FakeHost next = host.restart()) {
            host = next;
            assertThat(known(next, "run").made()).isEqualTo(run);
            assertThat(known(next, "exec").made()).isEqualTo(exec);
            assertThat(next.service.execs().find(next.admin, exec).id()).isEqualTo(exec);
        }
    }

    private static RunRequest sleep() {
        return new RunRequest(
                null,
                null,
                List.of("sleep"),
                null,
                List.of(),
                List.of(),
                null,
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                false,
                null,
                Map.of(),
                null,
                null,
                null,
                List.of());
    }

    @Test
    void whatWasNotMadeMayBeDoneAgain() {
        made("nothing", () -> "nothing");
        leave("nothing");
        assertThat(host.service.idempotency().begin(host.admin, ROUTE, "nothing", "h")).isEmpty();
        made("failed", () -> host.create().id());
        host.service.idempotency().abandon(host.admin, ROUTE, "failed");
        assertThat(host.service.idempotency().begin(host.admin, ROUTE, "failed", "h")).isEmpty();
    }

    @Test
    void theAnswerIsReplayedWhereItCouldBeKept() {
        made("k", () -> host.create().id());
        Idempotency.Answer answer =
                new Idempotency.Answer(201, "{}", Map.of("Location", "/v1/x/1"), null);
        host.service.idempotency().complete(host.admin, ROUTE, "k", answer);
        assertThat(known(host, "k")).isEqualTo(answer);
        try (FakeHost next = host.restart()) {
            host = next;
            assertThat(known(next, "k")).isEqualTo(answer);
        }
    }

    @Test
    void theCopiesOfAForkAreNotTakenForItsAnswer() {
        String id = host.create().id();
        made(
                "fork",
                () -> {
                    ForkRequest two = new ForkRequest(2, Map.of());
                    return host.service.sandboxes().fork(host.admin, id, two).toString();
                });
        leave("fork");
        assertThat(host.service.idempotency().begin(host.admin, ROUTE, "fork", "h")).isEmpty();
    }

    @Test
    void aSandboxIsMadeOnceThoughTheStoreFailsInBetween() {
        SandboxRequest request = FakeHost.request("once");
        String id =
                made(
                        "k",
                        () -> host.service.sandboxes().create(host.admin, request).sandbox().id());
        host.store.full(true);
        Fixture.refused(
                ErrorCode.HOST_DISK_FULL,
                () ->
                        host.service
                                .idempotency()
                                .complete(
                                        host.admin, ROUTE, "k", new Idempotency.Answer(201, "{}")));
        leave("k");
        host.store.full(false);
        assertThat(known(host, "k").made()).isEqualTo(id);
        assertThat(host.launcher.living()).isEqualTo(1);
    }
}
