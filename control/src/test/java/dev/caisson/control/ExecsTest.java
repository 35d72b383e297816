package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.StreamItem;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ExecsTest {
    private static final Duration LONG = Duration.ofSeconds(15);

    @TempDir private Path folder;
    private FakeHost host;
    private SandboxJson sandbox;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        sandbox = host.create();
    }

    @AfterEach
    void close() {
        host.close();
    }

    private ExecService execs() {
        return host.service.execs();
    }

    private ExecJson end(String id) {
        return execs().await(host.admin, id, LONG).orElseThrow();
    }

    private static ExecRequest stdin(String... argv) {
        return new ExecRequest(
                List.of(argv),
                null,
                Map.of(),
                null,
                null,
                null,
                null,
                true,
                null,
                null,
                null,
                null,
                null,
                List.of());
    }

    @Test
    void tellsEachEventOnce() throws IOException {
        String id = host.start(sandbox.id(), "echo", "hé");
        List<StreamItem> items = host.follow(id, null);
        assertThat(items).extracting(StreamItem::type).containsExactly("started", "stdout", "exit");
        assertThat(FakeHost.text(items)).isEqualTo("hé\n");
        ExecJson last = end(id);
        assertThat(Objects.requireNonNull(last.result()).stdout().data()).isEqualTo("hé\n");
        assertThat(host.types("exec.")).containsExactly("exec.started", "exec.ended");
        assertThat(FakeHost.text(host.follow(id, null))).isEqualTo("hé\n");
    }

    @Test
    void keepsNoSecretInOutputResultOrEvents() throws IOException {
        String secret = "hunter2-secret";
        host.service
                .parts()
                .boxes()
                .of(sandbox.id())
                .orElseThrow()
                .hosted()
                .redaction()
                .set(
                        dev.caisson.redact.Redactor.of(
                                List.of(secret.getBytes(java.nio.charset.StandardCharsets.UTF_8))));
        String id = host.start(sandbox.id(), "echo", "a", secret, "b");
        List<StreamItem> items = host.follow(id, null);
        assertThat(FakeHost.text(items)).isEqualTo("a [redacted] b\n");
        ExecJson last = end(id);
        assertThat(Objects.requireNonNull(last.result()).stdout().data())
                .isEqualTo("a [redacted] b\n");
        StreamItem middle = items.get(1);
        assertThat(host.follow(id, middle.id()))
                .extracting(StreamItem::type)
                .containsExactly("exit");
        await().until(() -> host.types("secret.").equals(List.of("secret.redacted")));
        String events = host.service.events().list(host.admin, 0, 100, null, null).toString();
        assertThat(events).contains("[redacted]").doesNotContain(secret);
    }

    @Test
    void aStartThatIsSettledIsDurable() {
        String id = host.start(sandbox.id(), "sleep");
        execs().settle(host.admin, id);
        assertThat(host.memory.<Boolean>read(tx -> tx.find(Kind.EXEC, id).isPresent())).isTrue();
        assertThat(host.types("exec.")).containsExactly("exec.started");
        execs().kill(host.admin, id);
        assertThat(host.types("exec.")).startsWith("exec.started").contains("exec.ended");
    }

    @Test
    void aStartThatNobodySettlesIsDurableSoon() {
        String id = host.start(sandbox.id(), "sleep");
        await().until(() -> host.memory.read(tx -> tx.find(Kind.EXEC, id)).isPresent());
        execs().kill(host.admin, id);
    }

    @Test
    void aStartThatCannotBeWrittenIsKilled() {
        String id = host.start(sandbox.id(), "sleep");
        host.store.full(true);
        Fixture.refused(ErrorCode.HOST_DISK_FULL, () -> execs().settle(host.admin, id));
        host.store.full(false);
        assertThat(end(id).state()).isEqualTo("ended");
    }

    @Test
    void aStartThatIsWrittenWithItsEndIsSettledWithThat() {
        host.store.full(true);
        String id = host.start(sandbox.id(), "echo", "short");
        await().until(() -> host.store.refused() > 0);
        // On a slow machine the start is on its way by itself, and refused: that is said as well.
        CompletableFuture<Boolean> durable =
                CompletableFuture.supplyAsync(
                                () -> {
                                    execs().settle(host.admin, id);
                                    return host.memory
                                            .read(tx -> tx.find(Kind.EXEC, id))
                                            .isPresent();
                                })
                        .handle((there, failure) -> failure != null || there);
        await().pollDelay(Duration.ofMillis(100)).until(() -> !durable.isDone() || durable.join());
        host.store.full(false);
        assertThat(durable.join()).isTrue();
    }

    @Test
    void saysNothingOfAnEndThatIsNotWritten() throws Exception {
        String id = execs().start(host.admin, sandbox.id(), stdin("later")).id();
        await().until(() -> host.exec(id) != null);
        host.store.full(true);
        execs().input(host.admin, id, new ByteArrayInputStream(new byte[0]), true);
        CompletableFuture<List<StreamItem>> followed =
                CompletableFuture.supplyAsync(() -> {
                    try {
                        return host.follow(id, null);
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
        await().until(() -> host.store.refused() > 1);
        assertThat(followed).isNotDone();
        assertThat(execs().await(host.admin, id, Duration.ofMillis(50))).isEmpty();
        assertThat(execs().find(host.admin, id).state()).isEqualTo("running");
        assertThat(execs().list(host.admin, sandbox.id(), Listing.FIRST).items())
                .singleElement()
                .satisfies(exec -> assertThat(exec.endedAt()).isNull());
        host.store.full(false);
        assertThat(FakeHost.text(followed.get())).isEqualTo("before after");
        assertThat(Objects.requireNonNull(end(id).result()).exitCode()).isEqualTo(7);
        assertThat(host.exec(id).over()).isTrue();
        assertThat(host.types("exec.ended")).hasSize(1);
    }

    @Test
    void goesOnFromTheMiddle() throws IOException {
        String id = host.start(sandbox.id(), "bytes", "300000");
        List<StreamItem> all = host.follow(id, null);
        StreamItem middle = all.get(all.size() / 2);
        List<StreamItem> rest = host.follow(id, middle.id());
        assertThat(rest)
                .extracting(StreamItem::offset)
                .isEqualTo(
                        all.subList(all.size() / 2 + 1, all.size()).stream()
                                .map(StreamItem::offset)
                                .toList());
        assertThat(rest.getLast().type()).isEqualTo("exit");
    }

    @Test
    void waitsNoLongerThanAsked() {
        String id = host.start(sandbox.id(), "sleep");
        assertThat(execs().await(host.admin, id, Duration.ofMillis(20))).isEmpty();
        assertThat(Objects.requireNonNull(execs().kill(host.admin, id).result()).reason())
                .isEqualTo("killed");
    }

    @Test
    void knowsNothingOfOtherTenants() {
        String id = host.start(sandbox.id(), "sleep");
        Caller other = host.tenant("other", null);
        for (String asked : List.of(id, "ex00000000000000000000", "x", "a".repeat(500))) {
            Fixture.refused(ErrorCode.NOT_FOUND, () -> execs().find(other, asked));
            Fixture.refused(ErrorCode.NOT_FOUND, () -> execs().kill(other, asked));
            Fixture.refused(ErrorCode.NOT_FOUND, () -> execs().await(other, asked, LONG));
            Fixture.refused(
                    ErrorCode.NOT_FOUND, () -> execs().follow(other, asked, null, item -> {}));
        }
        Fixture.refused(
                ErrorCode.NOT_FOUND,
                () -> execs().start(other, sandbox.id(), ExecRequest.of(List.of("true"))));
    }

    @Test
    void givesPlacesBackOnEveryPath() {
        Caller caller =
                host.tenant(
                        "few",
                        new QuotaJson(null, null, null, null, null, null, 1L, null, null, null));
        String own = host.service.sandboxes().create(caller, FakeHost.request(null)).sandbox().id();
        for (int i = 0; i < 3; i++) {
            String ran = execs().start(caller, own, ExecRequest.of(List.of("true"))).id();
            assertThat(execs().await(caller, ran, LONG)).isPresent();
            String missing = execs().start(caller, own, ExecRequest.of(List.of("nothing"))).id();
            assertThat(execs().await(caller, missing, LONG).orElseThrow().state())
                    .isEqualTo("failed");
            String killed = execs().start(caller, own, ExecRequest.of(List.of("sleep"))).id();
            Fixture.refused(
                    ErrorCode.QUOTA_EXCEEDED,
                    () -> execs().start(caller, own, ExecRequest.of(List.of("true"))));
            execs().kill(caller, killed);
            Fixture.refused(
                    ErrorCode.INVALID, () -> execs().start(caller, own, ExecRequest.of(List.of())));
        }
        String last = execs().start(caller, own, ExecRequest.of(List.of("sleep"))).id();
        host.service.sandboxes().delete(caller, own);
        assertThat(execs().await(caller, last, LONG).orElseThrow().result()).isNotNull();
        assertThat(host.service.held()).containsEntry("execs", 0).containsEntry("places", 0);
    }

    @Test
    void runsNoMoreThanTheServerMay() {
        List<String> some = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            some.add(host.start(sandbox.id(), "sleep"));
        }
        Fixture.refused(ErrorCode.NO_CAPACITY, () -> host.start(sandbox.id(), "true"));
        execs().kill(host.admin, some.getFirst());
        host.start(sandbox.id(), "true");
    }

    @Test
    void endsManyWithTheirSandboxAtOnce() {
        for (int i = 0; i < 30; i++) {
            host.start(sandbox.id(), "sleep");
        }
        long before = System.nanoTime();
        host.service.sandboxes().delete(host.admin, sandbox.id());
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(8));
        assertThat(host.types("exec.ended")).hasSize(30);
    }

    @Test
    void killsWhatHasNotBegunYet() {
        RunningExec exec =
                ((Execs) execs())
                        .begin(host.admin, sandbox.id(), ExecRequest.of(List.of("sleep")), null);
        exec.kill();
        exec.kill();
        assertThat(exec.end().join().over()).isTrue();
    }

    @Test
    void writesInputOfOneClientAfterTheOther() throws Exception {
        String id = execs().start(host.admin, sandbox.id(), stdin("cat")).id();
        byte[] ones = "1".repeat(50_000).getBytes(StandardCharsets.US_ASCII);
        byte[] twos = "2".repeat(50_000).getBytes(StandardCharsets.US_ASCII);
        Thread one = Thread.ofVirtual().start(() -> input(id, ones));
        Thread two = Thread.ofVirtual().start(() -> input(id, twos));
        one.join();
        two.join();
        execs().input(host.admin, id, new ByteArrayInputStream(new byte[0]), true);
        String text = FakeHost.text(host.follow(id, null));
        assertThat(text).hasSize(100_000).matches("1+2+|2+1+");
    }

    private void input(String id, byte[] bytes) {
        try {
            execs().input(host.admin, id, new ByteArrayInputStream(bytes), false);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void tellsLogsOfAllExecs() throws IOException {
        String first = host.start(sandbox.id(), "echo", "one");
        end(first);
        host.clock.advance(Duration.ofMillis(1));
        String second = host.start(sandbox.id(), "echo", "two");
        end(second);
        List<StreamItem> items = new ArrayList<>();
        host.service.logs().read(host.admin, sandbox.id(), false, null, items::add);
        assertThat(FakeHost.text(items)).isEqualTo("one\ntwo\n");
        assertThat(items).extracting(StreamItem::exec).contains(first, second);
    }

    @Test
    void followsLogsUntilTheSandboxIsOver() throws Exception {
        List<StreamItem> items = java.util.Collections.synchronizedList(new ArrayList<>());
        CompletableFuture<Void> reading =
                CompletableFuture.runAsync(() -> {
                    try {
                        host.service.logs().read(host.admin, sandbox.id(), true, null, items::add);
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
        end(host.start(sandbox.id(), "echo", "one"));
        await().until(() -> FakeHost.text(List.copyOf(items)).contains("one"));
        host.start(sandbox.id(), "talk", "two");
        await().until(() -> FakeHost.text(List.copyOf(items)).contains("two"));
        host.service.sandboxes().delete(host.admin, sandbox.id());
        reading.get();
        assertThat(items)
                .filteredOn(item -> item.type().equals("exit") && item.exec() != null)
                .hasSize(2);
        assertThat(items.getLast())
                .matches(item -> item.type().equals("exit") && item.exec() == null)
                .matches(item -> sandbox.id().equals(item.sandbox()));
    }
}
