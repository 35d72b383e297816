package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.PtySize;
import dev.caisson.api.Tunnel;
import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Terminals and tunnels. */
class SocketTest {
    private static final String TERMINAL = "GET /v1/execs/" + Forms.EX + "/terminal";
    private static final String TCP = "GET /v1/sandboxes/" + Forms.SB + "/ports/80/tcp";

    private StubServer server;
    private RemoteCaisson caisson;
    private final List<String> frames = new CopyOnWriteArrayList<>();

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("GET /v1/sandboxes/" + Forms.SB, Forms.sandbox("running"));
        server.on("POST /v1/sandboxes/" + Forms.SB + "/execs", Forms.EXEC);
        caisson = RemoteCaisson.open(Forms.config(server));
    }

    @AfterEach
    void close() throws IOException {
        caisson.close();
        server.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private Exec terminal() {
        return caisson.sandbox(Forms.SB)
                .start(ExecSpec.of("sh").withPty(new PtySize(24, 80)), ExecListener.NONE);
    }

    @Test
    void typesAndResizesOverTheTerminal() throws IOException {
        CountDownLatch open = new CountDownLatch(1);
        server.on(
                TERMINAL,
                (request, reply) -> {
                    reply.upgrade();
                    reply.text(Forms.item(1, "started", "\"pid\":3"));
                    open.countDown();
                    frames.add(reply.frame());
                    frames.add(reply.frame());
                    reply.frame(2, bytes("$ ls\r\n"));
                    reply.text(Forms.EXIT);
                    frames.add(reply.frame());
                });

        Exec exec = terminal();
        await(open);
        exec.stdin().write(bytes("ls\r"));
        exec.resize(50, 132);
        ExecResult result = exec.await();

        assertThat(frames).first().isEqualTo("2:ls\r");
        assertThat(frames.get(1)).startsWith("1:").contains("\"rows\":50", "\"cols\":132");
        assertThat(result.stdout().text()).isEqualTo("$ ls\r\n");
        assertThat(result.exitCode()).hasValue(3);
        assertThat(server.requests(TERMINAL).getFirst().header("authorization"))
                .startsWith("Bearer ");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
            // The client has the socket a moment after the server said so.
            Thread.sleep(100);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aBrokenTerminalGoesOnAsAStreamAndTellsNothingTwice() {
        server.on(
                TERMINAL,
                (request, reply) -> {
                    reply.upgrade();
                    reply.frame(2, bytes("one "));
                    reply.frame(2, bytes("two "));
                    reply.cut();
                });
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    reply.stream().item(Forms.item(1, "pty", "\"offset\":0,\"text\":\"one two \""));
                    reply.item(Forms.item(2, "pty", "\"offset\":8,\"text\":\"three\""));
                    reply.item(Forms.EXIT);
                });

        assertThat(terminal().await().stdout().text()).isEqualTo("one two three");
    }

    @Test
    void tunnelsCarryBytesBothWays() throws IOException {
        server.on(
                TCP,
                (request, reply) -> {
                    reply.upgrade();
                    frames.add(reply.frame());
                    reply.frame(2, bytes("po"));
                    reply.frame(2, bytes("ng"));
                    frames.add(reply.frame());
                    reply.frame(8, new byte[] {3, (byte) 0xE8});
                });

        try (Tunnel tunnel = caisson.sandbox(Forms.SB).dial(80)) {
            tunnel.output().write(bytes("ping"));
            byte[] got = tunnel.input().readNBytes(4);
            tunnel.output().close();

            assertThat(new String(got, StandardCharsets.UTF_8)).isEqualTo("pong");
            assertThat(tunnel.input().read()).isEqualTo(-1);
        }
        assertThat(frames).containsExactly("2:ping", "2:");
    }

    @Test
    void aTunnelThatBreaksIsNoEndOfFile() throws IOException {
        CountDownLatch read = new CountDownLatch(1);
        server.on(
                TCP,
                (request, reply) -> {
                    reply.upgrade();
                    reply.frame(2, bytes("x"));
                    await(read);
                    reply.cut();
                });

        try (Tunnel tunnel = caisson.sandbox(Forms.SB).dial(80)) {
            assertThat(tunnel.input().read()).isEqualTo('x');
            read.countDown();
            assertThatThrownBy(() -> tunnel.input().read()).isInstanceOf(IOException.class);
        }
    }

    @Test
    void tellsThatNothingListens() {
        CaissonException failure =
                catchThrowableOfType(
                        CaissonException.class, () -> caisson.sandbox(Forms.SB).dial(80));

        assertThat(failure.code()).isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(failure.message()).contains("port 80");
    }
}
