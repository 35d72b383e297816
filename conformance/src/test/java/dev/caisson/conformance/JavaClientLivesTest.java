package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Event;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.HostFile;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.client.Query;
import dev.caisson.client.RemoteCaisson;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.SnapshotJson;
import dev.caisson.v1.SnapshotRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Lives of sandboxes, runs and events by the Java client against a real server. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class JavaClientLivesTest extends JavaClientFixture {
    // ---- lives

    @Test
    void aSandboxIsPausedAndResumed() {
        Sandbox sandbox = caisson.create();
        Exec exec = sandbox.start(ExecSpec.shell("sleep 0.5; echo went on"));

        sandbox.pause();
        assertThat(sandbox.state()).isEqualTo(SandboxState.PAUSED);
        assertThatThrownBy(() -> sandbox.exec("true"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_STATE));
        sandbox.pause(); // as it is already
        sandbox.resume();
        sandbox.resume();

        assertThat(sandbox.state()).isEqualTo(SandboxState.RUNNING);
        assertThat(end(exec).stdout().text()).isEqualTo("went on\n");
    }

    /** Time and again: what was there before may still be cleared away when it comes back. */
    @Test
    void aSandboxIsPausedToItsDiskAndComesBackAtOnce() {
        Sandbox sandbox = caisson.create();
        sandbox.files().write("f", "kept");
        for (int i = 0; i < 12; i++) {
            client.sandboxes().pause(sandbox.id(), new PauseRequest(false));
            assertThat(client.sandboxes().find(sandbox.id()).pauseMode()).isEqualTo("disk");
            sandbox.resume();
            assertThat(sandbox.files().readText("f")).isEqualTo("kept");
        }
    }

    @Test
    void aSandboxIsSavedAndCopied() {
        Sandbox sandbox = caisson.create();
        sandbox.files().write("f", "one");
        String name = name();
        SnapshotJson saved =
                client.snapshots().create(sandbox.id(), new SnapshotRequest(name, Map.of(), null));
        assertThat(client.snapshots().find(name).id()).isEqualTo(saved.id());
        sandbox.files().write("f", "two");

        List<SandboxJson> forks =
                client.sandboxes().fork(sandbox.id(), new ForkRequest(2, Map.of("of", name)));
        assertThat(forks).hasSize(2);
        for (SandboxJson fork : forks) {
            assertThat(caisson.sandbox(fork.id()).files().readText("f")).isEqualTo("two");
        }
        List<SandboxJson> labelled =
                ServiceClient.all(
                        Query.FIRST.withLimit(1).with("label.of", name), client.sandboxes()::list);
        assertThat(labelled).hasSize(2);
        SandboxJson of = client.sandboxes().create(from(name));
        assertThat(caisson.sandbox(of.id()).files().readText("f")).isEqualTo("one");

        client.snapshots().delete(saved.id());
        refused(ErrorCode.NOT_FOUND, () -> client.sandboxes().create(from(name)));
    }

    private static SandboxRequest from(String snapshot) {
        return new SandboxRequest(
                null, null, Map.of(), null, null, snapshot, null, null, Map.of(), null, null, null,
                null, null, null, List.of(), null, null, null, null, List.of());
    }

    @Test
    void whatWasMadeEndsWithTheClientAndTheRestLivesOn() throws Exception {
        String found = api.sandbox(Map.of("name", name()));
        Sandbox made;
        Sandbox other;
        try (RemoteCaisson own = RemoteCaisson.open(config(service.adminKey()))) {
            made = own.create();
            Sandbox closed = own.create();
            other = own.sandbox(found);
            assertThat(other.exec("echo", "here").stdout().text()).isEqualTo("here\n");
            assertThat(own.sandboxes()).hasSize(2);
            closed.close();
            closed.close();
            assertThat(closed.onEnd().toCompletableFuture().get(10, TimeUnit.SECONDS))
                    .isEqualTo(EndReason.DELETED);
            assertThat(own.sandboxes()).hasSize(1);
        }

        assertThat(state(made.id())).isEqualTo("ended");
        assertThat(state(found)).isEqualTo("running");
        assertThat(HostView.processes(made.id())).isEmpty();
        assertThat(HostView.processes(found)).isNotEmpty();
    }

    @Test
    void theEndOfASandboxIsTold() throws Exception {
        Sandbox sandbox = caisson.create(SandboxSpec.defaults().withMaxLife(Duration.ofSeconds(1)));
        Exec exec = sandbox.start(ExecSpec.of("sleep", "60"));

        assertThat(sandbox.onEnd().toCompletableFuture().get(20, TimeUnit.SECONDS))
                .isEqualTo(EndReason.MAX_LIFE);

        assertThat(end(exec).reason()).isEqualTo(ExecReason.SANDBOX_ENDED);
        assertThat(sandbox.state()).isEqualTo(SandboxState.ENDED);
    }

    // ---- runs and events

    @Test
    void aRunTakesFilesAndGivesThemBack(@TempDir Path folder) throws IOException {
        Path in = Files.writeString(folder.resolve("in.txt"), "hallo");
        Path out = folder.resolve("out");

        RunResult run =
                caisson.run(
                        RunSpec.command("sh", "-c", "cat; tr a-z A-Z < in.txt > out.txt; exit 4")
                                .withFiles(List.of(new HostFile(in, "in.txt")))
                                .withStdin(new ByteArrayInputStream(new byte[] {'x'}))
                                .withOut(out));

        assertThat(run.result().exitCode()).hasValue(4);
        assertThat(run.result().stdout().text()).isEqualTo("x");
        assertThat(out.resolve("out.txt")).hasContent("HALLO");
    }

    @Test
    void eventsAreListedFollowedAndHeard() {
        Queue<Event> heard = new ConcurrentLinkedQueue<>();
        String id;
        try (RemoteCaisson hearing = RemoteCaisson.open(config(service.adminKey()), heard::add)) {
            try (Sandbox sandbox = hearing.create()) {
                id = sandbox.id();
                sandbox.exec("true");
            }
            await().atMost(Duration.ofSeconds(15))
                    .untilAsserted(() ->
                            assertThat(heard)
                                    .extracting(event -> event.type().value())
                                    .contains("sandbox.ended"));
        }
        List<String> wanted =
                List.of("sandbox.created", "exec.started", "exec.ended", "sandbox.ended");
        assertThat(heard)
                .allMatch(event -> event.sandbox().orElse("").equals(id))
                .extracting(event -> event.type().value())
                .containsSubsequence(wanted);
        assertThat(client.events().list(0, 200, id, null))
                .extracting(EventJson::type)
                .containsSubsequence(wanted);
        List<String> followed = new ArrayList<>();
        client.events()
                .follow(
                        0,
                        id,
                        null,
                        event -> {
                            followed.add(event.type());
                            return event.type().equals("sandbox.ended");
                        });
        assertThat(followed).containsSubsequence(wanted);
    }
}
