package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of runs in the disk quota; each run leaves 5,000 bytes, which are two blocks. */
final class KeptResultsTest {
    private static final long DISK = Limits.defaults().disk().bytes();
    private static final long KEPT = 8192;

    @TempDir private Path folder;
    private FakeHost host;
    private Caller caller;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        host.launcher.onAgent(agent ->
                agent.program(
                        "make",
                        exec -> {
                            agent.files().add("/work/out.txt", "x".repeat(5000));
                            return 0;
                        }));
        caller =
                host.tenant(
                        "kept",
                        new QuotaJson(
                                null, null, null, null, DISK + KEPT, null, null, null, null, null));
    }

    @AfterEach
    void close() {
        host.close();
    }

    private RunService runs() {
        return host.service.runs();
    }

    private String run(String program) {
        RunRequest request =
                new RunRequest(
                        null,
                        null,
                        List.of(program),
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
        String id = runs().start(caller, request).id();
        RunJson last = runs().await(caller, id, Duration.ofSeconds(15)).orElseThrow();
        assertThat(last.state()).isEqualTo("ended");
        return id;
    }

    private long taken() {
        return host.service.parts().quotas().taken(caller.tenant(), Account.Sum.DISK);
    }

    private void makesASandbox() {
        String made =
                host.service.sandboxes().create(caller, FakeHost.request(null)).sandbox().id();
        host.service.sandboxes().delete(caller, made);
    }

    private CaissonException makesNoSandbox() {
        return Fixture.refused(
                ErrorCode.QUOTA_EXCEEDED,
                () -> host.service.sandboxes().create(caller, FakeHost.request(null)));
    }

    private Path kept(String run) {
        return host.data.resolve(RunWork.FOLDER).resolve(run);
    }

    @Test
    void filesThatAreKeptCountUntilTheirRunIsDeleted() {
        String one = run("make");
        assertThat(taken()).isEqualTo(KEPT);
        makesASandbox(); // control: they just fit
        String two = run("make");
        assertThat(taken()).isEqualTo(2 * KEPT);
        CaissonException refusal = makesNoSandbox();
        assertThat(refusal.details())
                .containsEntry("limit", "diskBytes")
                .containsEntry("current", Long.toString(2 * KEPT));
        assertThat(refusal.remedy()).contains("Delete runs");
        runs().delete(caller, one);
        makesASandbox();
        runs().delete(caller, two);
        assertThat(taken()).isZero();
        assertThat(kept(one)).doesNotExist();
    }

    @Test
    void aRunThatLeavesNothingCountsNothing() {
        host.launcher.onAgent(agent -> agent.program("quiet", exec -> 0));
        run("quiet");
        assertThat(taken()).isZero();
    }

    @Test
    void theyCountAfterARestartAndUntilTheyExpire() {
        run("make");
        run("make");
        host = host.restart();
        assertThat(taken()).isEqualTo(2 * KEPT);
        makesNoSandbox();
        host.clock.advance(Duration.ofHours(2));
        new Housekeeping(host.service.parts(), (Runs) runs(), (box, reason) -> {}).forget();
        assertThat(taken()).isZero();
        makesASandbox();
    }

    @Test
    void filesWhoseRunIsGoneAreRemovedAtTheStart() throws IOException {
        String known = run("make");
        Path unknown = Files.createDirectories(kept("rn" + "0".repeat(20)));
        Files.writeString(unknown.resolve("left"), "x");
        host = host.restart();
        assertThat(unknown).doesNotExist();
        assertThat(kept(known).resolve("out.txt")).exists(); // control
    }

    @Test
    void theyGoWithTheirTenant() {
        String id = run("make");
        host.service.tenants().delete(host.admin, caller.tenant());
        assertThat(taken()).isZero();
        assertThat(kept(id)).doesNotExist();
    }
}
