package dev.caisson.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.core.EngineRequest;
import dev.caisson.core.EngineSandbox;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.testkit.Frames;
import dev.caisson.wire.launcher.Created;
import dev.caisson.wire.launcher.Ended;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Welcome;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.provider.MethodSource;

/** A launcher that sends anything: everybody who waits is told an error of a known kind. */
class LauncherConnectionFuzzTest {
    private static final String ID = "sb00000000000000000000";
    private static final byte[] WELCOME =
            Frames.encode(
                    Reply.newBuilder()
                            .setId(1)
                            .setWelcome(Welcome.newBuilder().setVersion(1).setKernel("x"))
                            .build());

    @TempDir Path folder;

    static Stream<byte[]> replies() {
        byte[] created =
                reply(2, Reply.newBuilder().setCreated(Created.newBuilder().setSandbox(ID)));
        return Stream.of(
                new byte[0],
                new byte[] {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF},
                ByteBuffer.allocate(4).putInt(Integer.MAX_VALUE).array(),
                ByteBuffer.allocate(4).putInt((64 << 10) + 1).array(),
                new byte[] {0, 0, 0, 3, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF},
                new byte[] {0, 0, 0, 0},
                WELCOME,
                created,
                joined(created, created),
                reply(999, Reply.newBuilder().setCreated(Created.getDefaultInstance())),
                reply(-1, Reply.newBuilder()),
                reply(2, Reply.newBuilder().setCreated(Created.newBuilder().setSandbox("other"))),
                reply(2, FakeLauncher.error(2, ErrorKind.ERROR_SETUP, "no\0\n").toBuilder()),
                joined(
                        reply(
                                0,
                                Reply.newBuilder()
                                        .setEnded(
                                                Ended.newBuilder()
                                                        .setSandbox(ID)
                                                        .setReasonValue(77))),
                        reply(0, Reply.newBuilder().setEnded(Ended.getDefaultInstance()))));
    }

    private static byte[] reply(long id, Reply.Builder reply) {
        return Frames.encode(reply.setId(id).build());
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    @MethodSource("replies")
    @FuzzTest
    void isRefusedWhateverItSaysFirst(byte[] bytes) throws IOException {
        try (Script launcher = new Script(folder, bytes, new byte[0])) {
            try {
                NamespacesEngine.connect(launcher.path).close();
            } catch (CaissonException e) {
                assertThat(e.message()).isNotEmpty();
            }
        }
    }

    @MethodSource("replies")
    @FuzzTest
    void answersOrFailsWhateverItSaysToARequest(byte[] bytes) throws Exception {
        try (Script launcher = new Script(folder, WELCOME, bytes)) {
            NamespacesEngine engine = NamespacesEngine.connect(launcher.path);
            EngineSandbox sandbox =
                    engine.create(
                            EngineRequest.of(
                                    ID,
                                    "local",
                                    "host",
                                    Limits.defaults(),
                                    Optional.empty(),
                                    Optional.empty()));
            typed(sandbox::awaitCreated);
            typed(sandbox::usage);
            typed(() -> sandbox.renew(Duration.ofSeconds(1)));
            typed(() -> engine.attach(ID));
            sandbox.destroy();
            assertThat(sandbox.onEnd().get(20, TimeUnit.SECONDS).reason()).isNotNull();
            engine.close();
        }
    }

    private static void typed(Runnable call) {
        try {
            call.run();
        } catch (CaissonException e) {
            assertThat(e.message()).isNotEmpty();
        }
    }

    @MethodSource("lastWords")
    @FuzzTest
    void itsLastWordIsReadWhateverItIs(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        assertThat(LauncherProcess.refused(text).message()).isNotEmpty();
    }

    static Stream<byte[]> lastWords() {
        return Stream.of(
                        "{\"error\":{\"code\":\"internal\",\"message\":\"m\",\"remedy\":\"r\"}}",
                        "{\"message\":\"\\u00zz \\u12\"}",
                        "{\"message\":\"\\u\"}",
                        "{\"message\":\"\\u-123\"",
                        "{\"message\":\"\\\\\"}",
                        "\0")
                .map(text -> text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void aSilentOneIsGivenUp() throws IOException {
        LauncherConnection.Watcher nobody =
                new LauncherConnection.Watcher() {
                    @Override
                    public void ended(Ended ended) {}

                    @Override
                    public void lost(CaissonException cause, boolean closedHere) {}
                };
        Path path = folder.resolve("silent.sock");
        try (ServerSocketChannel server = listen(path)) {
            assertThat(server.isOpen()).isTrue();
            assertThatThrownBy(() -> LauncherConnection.open(path, nobody, Duration.ofMillis(200)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("did not answer within 200 ms");
        }
    }

    @Test
    void anAbsurdLengthIsAnErrorOfTheEngine() throws IOException {
        byte[] absurd = ByteBuffer.allocate(4).putInt(Integer.MAX_VALUE).array();
        try (Script launcher = new Script(folder, absurd, new byte[0])) {
            assertThatThrownBy(() -> NamespacesEngine.connect(launcher.path))
                    .isInstanceOfSatisfying(
                            CaissonException.class,
                            e -> {
                                assertThat(e.code()).isEqualTo(ErrorCode.LAUNCHER_UNAVAILABLE);
                                assertThat(e.message()).contains("2147483647 bytes");
                            });
        }
    }

    private static ServerSocketChannel listen(Path path) throws IOException {
        return ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(path));
    }

    /** Says one thing after the greeting, another after the first request, and hangs up. */
    private static final class Script implements AutoCloseable {
        final Path path;
        private final ServerSocketChannel server;

        Script(Path folder, byte[] first, byte[] then) throws IOException {
            path = folder.resolve("l" + System.nanoTime() + ".sock");
            server = listen(path);
            Thread.ofPlatform()
                    .daemon()
                    .name("script")
                    .start(() -> {
                        try (SocketChannel client = server.accept()) {
                            Frames.read(client, Request.parser());
                            Frames.write(client, first);
                            if (then.length > 0) {
                                Frames.read(client, Request.parser());
                                Frames.write(client, then);
                            }
                        } catch (IOException e) {
                            // The client has had enough.
                        }
                    });
        }

        @Override
        public void close() throws IOException {
            server.close();
            java.nio.file.Files.delete(path);
        }
    }
}
