package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.ApprovalService;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.control.ExecService;
import dev.caisson.control.FileService;
import dev.caisson.control.Follower;
import dev.caisson.control.Listing;
import dev.caisson.control.Proof;
import dev.caisson.control.Role;
import dev.caisson.control.RunService;
import dev.caisson.control.SandboxService;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.StreamItem;
import dev.caisson.v1.UsageJson;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the backend asks of the service, and with whose key. */
class ControlBackendTest {
    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private final List<String> calls = new ArrayList<>();
    private final List<Object> requests = new ArrayList<>();
    private volatile String state = "running";
    private volatile @Nullable String approval;
    private final Caller agent = caller("key1", "local", Role.AGENT);
    private final ControlBackend backend = new ControlBackend(control(), agent);

    private static Caller caller(String key, String tenant, Role role) {
        return new Caller(
                tenant, key, "somebody", role, Set.of(), null, false, Map.of(), null, Proof.NONE);
    }

    private Stub.Answer told(String name, Stub.Answer answer) {
        return arguments -> {
            calls.add(((Caller) arguments[0]).keyId() + " " + name);
            requests.add(arguments[arguments.length - 1]);
            return answer.to(arguments);
        };
    }

    private Control control() {
        SandboxService sandboxes = sandboxes();
        ExecService execs = execs();
        RunService runs = runs();
        FileService files = files();
        ApprovalService approvals = approvals();
        return new Stub<>(Control.class)
                .on("sandboxes", a -> sandboxes)
                .on("execs", a -> execs)
                .on("runs", a -> runs)
                .on("files", a -> files)
                .on("approvals", a -> approvals)
                .on("requireStill", a -> null)
                .on(
                        "require",
                        a -> {
                            if (((Caller) a[0]).role() == Role.AGENT) {
                                throw CaissonException.of(ErrorCode.POLICY_DENIED, "no");
                            }
                            return null;
                        })
                .make();
    }

    private SandboxService sandboxes() {
        return new Stub<>(SandboxService.class)
                .on(
                        "create",
                        told(
                                "create",
                                a ->
                                        new SandboxService.Made(
                                                new FakeBackend().create("n", Map.of(), null),
                                                false)))
                .on("list", told("list", a -> new Page<>(List.of(), "next")))
                .on("delete", told("delete", a -> null))
                .make();
    }

    private ExecService execs() {
        return new Stub<>(ExecService.class)
                .on("start", told("start", a -> exec()))
                .on("find", told("find", a -> exec()))
                .on(
                        "await",
                        told(
                                "await",
                                a ->
                                        state.equals("ended")
                                                ? Optional.of(exec())
                                                : Optional.empty()))
                .on("kill", told("kill", a -> exec()))
                .on("follow", told("follow", a -> follow((Follower) a[3])))
                .make();
    }

    private RunService runs() {
        return new Stub<>(RunService.class)
                .on("start", told("run", a -> run()))
                .on("find", told("find run", a -> run()))
                .on(
                        "await",
                        told(
                                "await run",
                                a -> state.equals("ended") ? Optional.of(run()) : Optional.empty()))
                .on("delete", told("delete run", a -> run()))
                .make();
    }

    private FileService files() {
        return new Stub<>(FileService.class)
                .on(
                        "read",
                        told(
                                "read",
                                a -> {
                                    ((OutputStream) a[5])
                                            .write("part".getBytes(StandardCharsets.UTF_8));
                                    return null;
                                }))
                .make();
    }

    private ApprovalService approvals() {
        return new Stub<>(ApprovalService.class)
                .on(
                        "find",
                        told("find approval", a -> new FakeBackend().approval("ap1").orElseThrow()))
                .on("decide", told("decide", a -> new FakeBackend().approval("ap1").orElseThrow()))
                .make();
    }

    private ExecJson exec() {
        return new ExecJson(
                "ex1",
                "sb1",
                "ss1",
                state,
                List.of("x"),
                "/work",
                "sandbox",
                false,
                null,
                NOW,
                null,
                state.equals("ended") ? result() : null,
                null,
                approval);
    }

    private RunJson run() {
        String known = state.equals("waiting_approval") ? "running" : state;
        return new RunJson(
                "rn1",
                known,
                "sb1",
                "ss1",
                "container",
                "fake",
                "ex1",
                Map.of(),
                NOW,
                null,
                null,
                state.equals("ended") ? result() : null,
                null);
    }

    private static ResultJson result() {
        OutputJson out = new OutputJson("text", "0123456789", 30, true, 20);
        OutputJson err = new OutputJson("base64", "AAE=", 2, false, 0);
        return new ResultJson(
                0,
                null,
                "exited",
                List.of(),
                out,
                err,
                List.of(),
                List.of(),
                List.of(),
                new UsageJson(1, 1, 0, 1, 1, 1, 0),
                List.of(),
                null);
    }

    private static @Nullable Object follow(Follower follower) throws Exception {
        follower.accept(item("started", null, 0));
        follower.accept(item("stdout", "0123456789", 0));
        follower.accept(item("stderr", "zzz", 0));
        follower.accept(item("stdout", "abcdefghij", 10));
        follower.accept(item("stdout", "ABCDEFGHIJ", 20));
        try {
            Thread.sleep(60_000);
        } catch (InterruptedException e) {
            throw new IOException("Interrupted while following.", e);
        }
        return null;
    }

    private static StreamItem item(String type, @Nullable String text, long offset) {
        return new StreamItem(
                "1", NOW, type, text, null, offset, null, null, null, null, null, null, null, null,
                null, null);
    }

    @Test
    void asksForNothingThatAModelMustNotChoose() {
        backend.create("name", Map.of("a", "b"), Duration.ofSeconds(5));
        SandboxRequest request = (SandboxRequest) requests.getLast();
        assertThat(request)
                .isEqualTo(
                        new SandboxRequest(
                                "name",
                                null,
                                Map.of("a", "b"),
                                null,
                                null,
                                null,
                                null,
                                null,
                                Map.of(),
                                5000L,
                                null,
                                null,
                                null,
                                null,
                                null,
                                List.of(),
                                true,
                                null,
                                null,
                                null,
                                List.of()));
        backend.list(Map.of(), 7, "c");
        assertThat(((Listing) requests.getLast()).states())
                .contains("running", "paused")
                .doesNotContain("ended");
        assertThat(calls).allMatch(call -> call.startsWith("key1 "));
    }

    @Test
    void tellsHowAnExecStandsAndKillsItOnce() {
        Work work = backend.start("sb1", ExecRequest.of(List.of("x")));
        approval = "ap1";
        assertThat(work.status().approval()).isNull();
        state = "waiting_approval";
        assertThat(work.await(Duration.ofMillis(1)).approval()).isEqualTo("ap1");
        work.kill();
        assertThat(calls).contains("key1 kill");
        state = "ended";
        calls.clear();
        work.kill();
        assertThat(calls).doesNotContain("key1 kill");
        assertThat(work.await(Duration.ofMillis(1)).over()).isTrue();
    }

    @Test
    void findsTheApprovalThatARunWaitsFor() {
        Work work =
                backend.run(
                        new RunRequest(
                                null,
                                null,
                                List.of("x"),
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
                                null,
                                null,
                                Map.of(),
                                null,
                                null,
                                null,
                                List.of()));
        assertThat(work.status().state()).isEqualTo("running");
        state = "waiting_approval";
        approval = "ap1";
        assertThat(work.status().approval()).isEqualTo("ap1");
        work.kill();
        assertThat(calls).contains("key1 delete run");
        assertThat(backend.work("rn1").id()).isEqualTo("rn1");
        assertThat(backend.work("ex1").id()).isEqualTo("ex1");
    }

    @Test
    void readsOutputOfARunningCommandWithoutWaitingForItsEnd() {
        Work work = backend.work("ex1");
        assertThat(text(work.output(false, 0, 1000))).isEqualTo("0123456789abcdefghijABCDEFGHIJ");
        assertThat(text(work.output(false, 15, 10))).isEqualTo("fghijABCDE");
        assertThat(text(work.output(true, 1, 10))).isEqualTo("zz");
        assertThat(text(work.output(false, 30, 10))).isEmpty();
    }

    @Test
    void readsOutputOfAnEndedCommandFromItsResultWhereThatHasIt() {
        state = "ended";
        Work work = backend.work("ex1");
        assertThat(text(work.output(false, 2, 3))).isEqualTo("234");
        assertThat(calls).doesNotContain("key1 follow");
        assertThat(work.output(true, 0, 10).bytes()).containsExactly(0, 1);
        assertThat(text(work.output(false, 12, 3))).isEqualTo("cde");
        assertThat(calls).contains("key1 follow");
    }

    private static String text(Work.Piece piece) {
        return new String(piece.bytes(), StandardCharsets.UTF_8);
    }

    @Test
    void readsPartsOfFiles() {
        assertThat(backend.read("sb1", "a", 0, 10)).asString().isEqualTo("part");
    }

    @Test
    void decidesOnlyWithAnotherKeyOfTheTenantThatMay() {
        assertThat(backend.decides()).isFalse();
        assertThatThrownBy(() -> backend.decide("ap1", true)).isInstanceOf(CaissonException.class);
        for (Caller wrong :
                List.of(
                        agent,
                        caller("key2", "other", Role.ADMIN),
                        caller("key3", "local", Role.AGENT))) {
            assertThatThrownBy(() -> backend.withApprover(wrong))
                    .isInstanceOf(CaissonException.class);
        }
        ControlBackend deciding = backend.withApprover(caller("key4", "local", Role.OPERATOR));
        deciding.decide("ap1", true);
        assertThat(calls).containsExactly("key4 decide");
        assertThat(requests.getLast()).isEqualTo(new DecisionRequest(true, "once"));
    }
}
