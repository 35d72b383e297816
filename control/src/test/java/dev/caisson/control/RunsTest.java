package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.InputFileJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.StreamItem;
import dev.caisson.wire.launcher.ErrorKind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RunsTest {
    private static final Duration LONG = Duration.ofSeconds(15);

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

    private RunService runs() {
        return host.service.runs();
    }

    private static RunRequest run(
            @Nullable String code,
            @Nullable String language,
            List<String> argv,
            List<InputFileJson> files,
            boolean inline) {
        return new RunRequest(
                code, language, argv, null, List.of(), files, null, Map.of(), null, null, null,
                null, null, null, null, inline, null, Map.of(), null, null, null, List.of());
    }

    private static RunRequest argv(String... argv) {
        return run(null, null, List.of(argv), List.of(), false);
    }

    private RunJson end(String id) {
        return runs().await(host.admin, id, LONG).orElseThrow();
    }

    private String start(RunRequest request) {
        return runs().start(host.admin, request).id();
    }

    private static String error(RunJson run) {
        return Objects.requireNonNull(run.error()).code();
    }

    @Test
    void runsACommandAndLeavesNothing() {
        RunJson last = end(start(argv("echo", "hi")));
        assertThat(last.state()).isEqualTo("ended");
        assertThat(Objects.requireNonNull(last.result()).stdout().data()).isEqualTo("hi\n");
        assertThat(host.launcher.living()).isZero();
        assertThat(host.service.held())
                .containsEntry("runs", 0)
                .containsEntry("boxes", 0)
                .containsEntry("places", 0);
        assertThat(host.types("run.")).containsExactly("run.started", "run.ended");
    }

    @Test
    void saysWhoDeletedARunAndWhatExpired() {
        Caller other =
                host.service.authenticate(
                        Fixture.text(
                                host.service
                                        .keys()
                                        .create(host.admin, Fixture.request(Role.OPERATOR))));
        String id = start(argv("echo", "hi"));
        end(id);
        runs().delete(other, id);
        EventJson deleted = host.events().getLast();
        assertThat(deleted.type()).isEqualTo("run.expired");
        assertThat(deleted.reason()).isEqualTo("deleted");
        assertThat(deleted.actor().keyId()).isEqualTo(other.keyId());
        String old = start(argv("echo", "hi"));
        end(old);
        ((Runs) runs())
                .expire(RunDoc.of(host.memory.read(tx -> tx.find(Kind.RUN, old)).orElseThrow()));
        EventJson expired = host.events().getLast();
        assertThat(expired.reason()).isEqualTo("expired");
        assertThat(expired.actor().keyId()).isNull();
    }

    @Test
    void keepsNoRunForLongerThanTheProductDoes() {
        RunRequest base = argv("true");
        Fixture.refused(
                ErrorCode.INVALID,
                () ->
                        start(
                                Json.read(
                                        Json.write(base)
                                                .replaceFirst(
                                                        "\\{",
                                                        "{\"keepMillis\":"
                                                                + Duration.ofDays(31).toMillis()
                                                                + ","),
                                        RunRequest.class)));
    }

    @Test
    void endsARunWhoseSandboxCannotBeMade() {
        host.launcher.onCreate(
                create -> dev.caisson.testkit.FakeLauncher.error(0, ErrorKind.ERROR_SETUP, "no"));
        RunJson last = end(start(argv("true")));
        assertThat(last.state()).isEqualTo("failed");
        assertThat(error(last)).isEqualTo("engine_failed");
        assertThat(host.service.held()).containsEntry("runs", 0);
    }

    @Test
    void putsFilesInFirst() throws IOException {
        host.launcher.onAgent(agent ->
                agent.program(
                        "show",
                        exec -> {
                            exec.print("ran");
                            return 0;
                        }));
        InputFileJson text = new InputFileJson("in.txt", "hello", null, null);
        RunJson last = end(start(run(null, null, List.of("show"), List.of(text), true)));
        assertThat(last.state()).isEqualTo("ended");
        Fixture.refused(
                ErrorCode.INVALID,
                () ->
                        start(
                                run(
                                        null,
                                        null,
                                        List.of("show"),
                                        List.of(new InputFileJson("../x", "y", null, null)),
                                        false)));
        Fixture.refused(
                ErrorCode.INVALID,
                () ->
                        start(
                                run(
                                        null,
                                        null,
                                        List.of("show"),
                                        List.of(new InputFileJson("x", null, "*", null)),
                                        false)));
    }

    @Test
    void triesEachInterpreter() {
        host.launcher.onAgent(agent ->
                agent.program(
                        "python",
                        exec -> {
                            exec.print("second");
                            return 0;
                        }));
        RunJson last = end(start(run("print()", "python", List.of(), List.of(), false)));
        assertThat(Objects.requireNonNull(last.result()).stdout().data()).isEqualTo("second");
    }

    @Test
    void aListHoldsNoOutput() {
        String id = start(argv("echo", "hi"));
        end(id);
        RunJson listed = runs().list(host.admin, Listing.FIRST).items().getFirst();
        assertThat(listed.id()).isEqualTo(id);
        OutputJson stdout = Objects.requireNonNull(listed.result()).stdout();
        assertThat(stdout).isEqualTo(new OutputJson("text", "", 3, true, 3));
        assertThat(Objects.requireNonNull(listed.result()).limitsHit()).isEmpty();
        RunJson found = runs().find(host.admin, id);
        assertThat(Objects.requireNonNull(found.result()).stdout().data()).isEqualTo("hi\n");
        runs().delete(host.admin, id);
        assertThat(host.memory.<Boolean>read(tx -> tx.find(Kind.RESULT, id).isEmpty())).isTrue();
    }

    @Test
    void sendsCallersToTheServerThatHasIt() {
        String id = start(argv("echo", "hi"));
        end(id);
        host.memory.write(tx -> {
            Row row = tx.find(Kind.RUN, id).orElseThrow();
            return tx.update(Kind.RUN, Rows.withNode(row, "another"));
        });
        assertThat(runs().find(host.admin, id).state()).isEqualTo("ended");
        assertThat(end(id).state()).isEqualTo("ended");
        Fixture.refused(ErrorCode.WRONG_SERVER, () -> runs().delete(host.admin, id));
        Fixture.refused(ErrorCode.WRONG_SERVER, () -> runs().open(host.admin, id, "x"));
    }

    @Test
    void saysThatAnInterpreterIsMissing() {
        for (String language : List.of("python", "ruby", "awk")) {
            RunJson last = end(start(run("x", language, List.of(), List.of(), false)));
            assertThat(error(last)).as(language).isEqualTo("interpreter_missing");
        }
        assertThat(error(end(start(argv("nothing"))))).isEqualTo("command_not_found");
        assertThat(host.launcher.living()).isZero();
    }

    @Test
    void asksForOneOfCodeAndCommand() {
        Fixture.refused(ErrorCode.INVALID, () -> start(argv()));
        Fixture.refused(
                ErrorCode.INVALID, () -> start(run("x", null, List.of(), List.of(), false)));
        Fixture.refused(
                ErrorCode.INVALID,
                () -> start(run("x", "python", List.of("true"), List.of(), false)));
    }

    @Test
    void endsWhatIsDeletedWhileItRuns() {
        String id = start(argv("sleep"));
        await().until(() -> host.launcher.living() == 1);
        RunJson last = runs().delete(host.admin, id);
        assertThat(last.endedAt()).isNotNull();
        assertThat(host.launcher.living()).isZero();
        runs().delete(host.admin, id);
        Fixture.refused(ErrorCode.NOT_FOUND, () -> runs().find(host.admin, id));
    }

    @Test
    void goesOnWithoutItsClient() {
        String id = start(argv("talk", "x"));
        org.assertj.core.api.Assertions.assertThatThrownBy(() ->
                        runs().follow(
                                        host.admin,
                                        id,
                                        null,
                                        item -> {
                                            throw new IOException("gone");
                                        }))
                .isInstanceOf(IOException.class);
        assertThat(runs().find(host.admin, id).state()).isEqualTo("running");
        runs().delete(host.admin, id);
    }

    @Test
    void followsToItsEnd() throws IOException {
        List<StreamItem> items = new ArrayList<>();
        String id = start(argv("echo", "x"));
        runs().follow(host.admin, id, null, items::add);
        assertThat(items).extracting(StreamItem::type).containsExactly("started", "stdout", "exit");
        assertThat(items.getLast().run()).isEqualTo(id);
        items.clear();
        runs().follow(host.admin, id, null, items::add);
        assertThat(items.getLast().type()).isEqualTo("exit");
    }

    @Test
    void forgetsWhatHasExpired() throws IOException {
        String id = start(argv("echo", "x"));
        end(id);
        Housekeeping housekeeping =
                new Housekeeping(host.service.parts(), (Runs) runs(), (box, reason) -> {});
        housekeeping.forget();
        assertThat(runs().find(host.admin, id).state()).isEqualTo("ended");
        host.clock.advance(Duration.ofHours(2));
        housekeeping.forget();
        Fixture.refused(ErrorCode.NOT_FOUND, () -> runs().find(host.admin, id));
        Fixture.refused(
                ErrorCode.NOT_FOUND,
                () -> runs().archive(host.admin, id, new ByteArrayOutputStream()));
        assertThat(host.types("run.")).endsWith("run.expired");
    }

    @Test
    void neverForgetsARunThatIsOnItsWay() {
        String id = start(argv("sleep"));
        await().until(() -> runs().find(host.admin, id).exec() != null);
        host.clock.advance(Duration.ofHours(100));
        new Housekeeping(host.service.parts(), (Runs) runs(), (box, reason) -> {}).forget();
        assertThat(host.memory.read(tx -> tx.find(Kind.RUN, id)).isPresent()).isTrue();
        runs().delete(host.admin, id);
    }

    @Test
    void saysNothingOfAnEndThatIsNotWritten() {
        String id = start(argv("sleep"));
        await().until(() -> runs().find(host.admin, id).exec() != null);
        String exec = Objects.requireNonNull(runs().find(host.admin, id).exec());
        RunningExec running =
                Objects.requireNonNull(
                        host.service.parts().boxes().all().iterator().next().execs.get(exec));
        host.store.full(true);
        running.kill();
        await().until(() -> host.store.refused() > 1);
        assertThat(runs().find(host.admin, id).state()).isEqualTo("running");
        assertThat(runs().await(host.admin, id, Duration.ofMillis(50))).isEmpty();
        host.store.full(false);
        assertThat(end(id).state()).isEqualTo("ended");
    }

    @Test
    void goesOnAfterARestart() {
        String id = start(argv("talk", "x"));
        await().until(() -> runs().find(host.admin, id).exec() != null);
        host = host.restart();
        String exec = Objects.requireNonNull(runs().find(host.admin, id).exec());
        assertThat(runs().find(host.admin, id).state()).isEqualTo("running");
        host.service.execs().kill(host.admin, exec);
        RunJson last = end(id);
        assertThat(last.state()).isEqualTo("ended");
        assertThat(Objects.requireNonNull(last.result()).stdout().data()).isEqualTo("x");
        assertThat(host.launcher.living()).isZero();
    }

    @Test
    void isLostWhenItsExecWas() {
        String id = start(argv("sleep"));
        await().until(() -> runs().find(host.admin, id).exec() != null);
        host.launcher.forget(String.valueOf(runs().find(host.admin, id).sandbox()));
        host = host.restart();
        RunJson last = end(id);
        assertThat(last.state()).isEqualTo("lost");
    }
}
