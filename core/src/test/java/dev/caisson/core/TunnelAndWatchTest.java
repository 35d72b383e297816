package dev.caisson.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileType;
import dev.caisson.api.Sandbox;
import dev.caisson.api.Tunnel;
import dev.caisson.api.UserInfo;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchEvent;
import dev.caisson.api.WatchKind;
import dev.caisson.api.WatchListener;
import dev.caisson.wire.agent.WatchEvents;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a sandbox does besides running commands and moving files. */
class TunnelAndWatchTest {
    private final FakeEngine engine = new FakeEngine();
    private final EngineCaisson caisson =
            new EngineCaisson(List.of(engine), List.of(), event -> {});
    private final Sandbox sandbox = caisson.create();

    @AfterEach
    void close() {
        caisson.close();
    }

    // ---- tunnels

    /** Reads to the client's end of file, then answers with all of it. */
    private void echoes(int port) {
        engine.agent
                .ports()
                .listen(
                        port,
                        connection -> {
                            ByteArrayOutputStream all = new ByteArrayOutputStream();
                            for (byte[] bytes = connection.read();
                                    bytes.length > 0;
                                    bytes = connection.read()) {
                                all.writeBytes(bytes);
                            }
                            connection.write(all.toByteArray());
                        });
    }

    @Test
    void closingTheOutputLeavesTheInputOpen() throws Exception {
        echoes(80);
        byte[] question = SandboxTest.pattern(3_000_000);
        try (Tunnel tunnel = sandbox.dial(80)) {
            tunnel.output().write(question);
            tunnel.output().close();
            assertThat(tunnel.input().readAllBytes()).isEqualTo(question);
            assertThat(tunnel.input().read()).isEqualTo(-1);
            assertThatThrownBy(() -> tunnel.output().write(1)).isInstanceOf(IOException.class);
        }
        await().until(() -> engine.agent.ports().open() == 0);
    }

    @Test
    void theServersEndOfFileLeavesTheOutputOpen() throws Exception {
        CountDownLatch got = new CountDownLatch(1);
        engine.agent
                .ports()
                .listen(
                        80,
                        connection -> {
                            connection.write("bye".getBytes(StandardCharsets.UTF_8));
                            connection.closeOutput();
                            if (connection.read().length == 1) {
                                got.countDown();
                            }
                        });
        try (Tunnel tunnel = sandbox.dial(80)) {
            assertThat(tunnel.input().readAllBytes()).asString().isEqualTo("bye");
            tunnel.output().write(1);
            got.await();
        }
    }

    @Test
    void aServerThatReadsNothingHoldsOnlyItsWriterUp() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch cut = new CountDownLatch(1);
        engine.agent
                .ports()
                .listen(
                        80,
                        connection -> {
                            held.await();
                            if (connection.cut()) {
                                cut.countDown();
                            }
                        });
        Tunnel tunnel = sandbox.dial(80);
        CountDownLatch broken = new CountDownLatch(1);
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        tunnel.output().write(new byte[1_000_000]);
                    } catch (IOException e) {
                        broken.countDown();
                    }
                });
        assertThat(sandbox.exec("echo", "on").stdout().text()).isEqualTo("on\n");
        assertThat(broken.getCount()).isEqualTo(1);
        tunnel.close();
        broken.await();
        await().until(() -> engine.agent.ports().open() == 0);
        held.countDown();
        cut.await();
        tunnel.close();
    }

    @Test
    void aPortWithoutAServerIsNotFound() {
        assertThatThrownBy(() -> sandbox.dial(81))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
        assertThatThrownBy(() -> sandbox.dial(0)).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> sandbox.dial(65_536)).isInstanceOf(CaissonException.class);
    }

    @Test
    void aTunnelBreaksWithTheChannel() throws Exception {
        echoes(80);
        try (Tunnel tunnel = sandbox.dial(80)) {
            engine.agent.cut();
            assertThatThrownBy(() -> tunnel.input().read()).isInstanceOf(IOException.class);
            OutputStream output = tunnel.output();
            assertThatThrownBy(() -> output.write(new byte[200_000]))
                    .isInstanceOf(IOException.class);
        }
        await().ignoreExceptions()
                .untilAsserted(() -> {
                    try (Tunnel next = sandbox.dial(80)) {
                        next.output().write(7);
                        next.output().close();
                        assertThat(next.input().read()).isEqualTo(7);
                    }
                });
    }

    @Test
    void aTunnelBreaksWithItsSandbox() {
        echoes(80);
        Tunnel tunnel = sandbox.dial(80);
        sandbox.close();
        assertThatThrownBy(() -> tunnel.input().read()).isInstanceOf(IOException.class);
    }

    // ---- watches

    private static WatchEvents events(String... paths) {
        WatchEvents.Builder events = WatchEvents.newBuilder();
        for (String path : paths) {
            events.addEvents(
                    dev.caisson.wire.agent.WatchEvent.newBuilder()
                            .setKind(dev.caisson.wire.agent.WatchKind.WATCH_WRITTEN)
                            .setPath(com.google.protobuf.ByteString.copyFromUtf8(path))
                            .setType(dev.caisson.wire.agent.FileType.FILE_TYPE_REGULAR));
        }
        return events.build();
    }

    private static class Told implements WatchListener {
        final List<String> told = new CopyOnWriteArrayList<>();

        @Override
        public void event(WatchEvent event) {
            told.add(event.path());
        }

        @Override
        public void overflow() {
            told.add("overflow");
        }

        @Override
        public void ended(CaissonException cause) {
            told.add("ended " + cause.code().value());
        }
    }

    @Test
    void tellsWhatHappensUntilClosed() {
        List<WatchEvent> seen = new CopyOnWriteArrayList<>();
        Watch watch = sandbox.files().watch("/work", true, seen::add);
        engine.agent.watches().tell(events("a", "b%\n"));
        await().until(() -> seen.size() == 2);
        assertThat(seen)
                .containsExactly(
                        new WatchEvent(WatchKind.WRITTEN, "a", FileType.REGULAR),
                        new WatchEvent(WatchKind.WRITTEN, "b%25%0A", FileType.REGULAR));
        watch.close();
        watch.close();
        await().until(() -> engine.agent.watches().count() == 0);
        assertThat(seen).hasSize(2);
    }

    @Test
    void tellsWhenEventsWereLost() {
        Told told = new Told();
        try (Watch watch = sandbox.files().watch("/work", false, told)) {
            assertThat(watch).isNotNull();
            engine.agent.watches().tell(events("a").toBuilder().setOverflow(true).build());
            engine.agent.watches().tell(events("b"));
            await().until(() -> told.told.contains("b") || told.told.contains("overflow"));
            assertThat(told.told.getFirst()).isEqualTo("overflow");
        }
    }

    @Test
    void aSlowListenerLosesEventsAndIsTold() {
        CountDownLatch go = new CountDownLatch(1);
        Told told =
                new Told() {
                    @Override
                    public void event(WatchEvent event) {
                        try {
                            go.await();
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                        super.event(event);
                    }
                };
        try (Watch watch = sandbox.files().watch("/work", false, told)) {
            assertThat(watch).isNotNull();
            String[] many = new String[1000];
            java.util.Arrays.fill(many, "x");
            for (int i = 0; i < 10; i++) {
                engine.agent.watches().tell(events(many));
            }
            assertThat(sandbox.exec("true").succeeded()).isTrue();
            go.countDown();
            await().until(() -> told.told.contains("overflow"));
            assertThat(told.told.size()).isBetween(4096, 4099);
            assertThat(told.told.getLast()).isEqualTo("overflow");
            engine.agent.watches().tell(events("later"));
            await().until(() -> told.told.getLast().equals("later"));
        }
    }

    @Test
    void aWatchGoesOnAfterABreak() {
        Told told = new Told();
        Watch watch = sandbox.files().watch("/work", false, told);
        engine.agent.cut();
        await().until(() -> told.told.contains("overflow") && engine.agent.watches().count() == 1);
        engine.agent.watches().tell(events("after"));
        await().until(() -> told.told.contains("after"));
        watch.close();
        await().until(() -> engine.agent.watches().count() == 0);
    }

    @Test
    void tellsThatAWatchEnded() {
        Told told = new Told();
        sandbox.files().watch("/work", false, told);
        engine.agent.watches().fail();
        await().until(() -> told.told.contains("ended engine_failed"));
        Told other = new Told();
        sandbox.files().watch("/work", false, other);
        sandbox.close();
        await().until(() -> other.told.contains("ended sandbox_ended"));
    }

    @Test
    void aFolderThatIsNotThereCannotBeWatched() {
        Told told = new Told();
        assertThatThrownBy(() -> sandbox.files().watch("/missing", false, told))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
        assertThat(told.told).isEmpty();
    }

    @Test
    void aListenerThatThrowsEndsItsWatch() {
        sandbox.files()
                .watch(
                        "/work",
                        false,
                        event -> {
                            throw new IllegalStateException("no");
                        });
        engine.agent.watches().tell(events("a"));
        await().until(() -> engine.agent.watches().count() == 0);
    }

    // ---- users and modes

    @Test
    void makesUsersOnce() {
        UserInfo ann = sandbox.addUser("ann");
        assertThat(ann).isEqualTo(new UserInfo("ann", 2000, 2000, "/home/ann", "/bin/sh"));
        assertThat(sandbox.addUser("ann")).isEqualTo(ann);
        assertThatThrownBy(() -> sandbox.addUser("Ann"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }

    @Test
    void changesModes() {
        sandbox.files().write("run.sh", "exit");
        sandbox.files().setMode("run.sh", 04755);
        assertThat(sandbox.files().stat("run.sh").orElseThrow().mode()).isEqualTo(0755);
        assertThatThrownBy(() -> sandbox.files().setMode("nope", 0644))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND));
    }
}
