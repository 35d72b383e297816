package dev.caisson.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.testkit.StubServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams of execs over connections that break. */
class StreamTest {
    private StubServer server;
    private RemoteCaisson caisson;
    private final Heard heard = new Heard();

    /** What a listener was told. */
    private static final class Heard implements ExecListener {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final List<String> more = new ArrayList<>();

        @Override
        public void started(long pid) {
            more.add("started " + pid);
        }

        @Override
        public void output(OutputFd fd, ByteBuffer bytes) {
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            out.writeBytes(copy);
        }

        @Override
        public void gap(OutputFd fd, long bytes) {
            more.add("gap " + bytes);
        }

        @Override
        public void limitHit(Limit limit) {
            more.add("limit " + limit.value());
        }

        String text() {
            return out.toString(StandardCharsets.UTF_8);
        }
    }

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

    private Exec start() {
        return start(ExecSpec.of("x"), heard);
    }

    private Exec start(ExecSpec spec, ExecListener listener) {
        return caisson.sandbox(Forms.SB).start(spec, listener);
    }

    private static String lines(int from) {
        StringBuilder text = new StringBuilder();
        String[] items = {
            Forms.item(1, "started", "\"pid\":7"),
            Forms.out(2, 0, "hello "),
            Forms.item(3, "limit", "\"limit\":\"pids\""),
            Forms.out(4, 6, "wörld"),
            Forms.item(5, "stdout", "\"offset\":12,\"base64\":\"/w==\""),
            Forms.EXIT
        };
        for (int i = from; i < items.length; i++) {
            text.append(items[i]).append('\n');
        }
        return text.toString();
    }

    @Test
    void everythingComesOnceWhereverTheStreamBreaks() {
        byte[] whole = lines(0).getBytes(StandardCharsets.UTF_8);
        for (int cut = 0; cut < whole.length; cut += 23) {
            AtomicInteger times = new AtomicInteger();
            int at = cut;
            server.on(
                    Forms.STREAM,
                    (request, reply) -> {
                        if (times.incrementAndGet() == 1) {
                            reply.stream();
                            reply.chunk(Arrays.copyOf(whole, at + 1));
                            reply.cut();
                            return;
                        }
                        String after = request.query("after");
                        int from = after.isEmpty() ? 0 : Integer.parseInt(after);
                        reply.stream().item(lines(Math.min(from, 5)).strip());
                    });
            Heard told = new Heard();

            ExecResult result = start(ExecSpec.of("x"), told).await();

            assertThat(told.out.toByteArray()).as("cut at %d", cut).hasSize(13);
            assertThat(told.text()).startsWith("hello wörld");
            assertThat(told.more).containsExactly("started 7", "limit pids");
            assertThat(result.exitCode()).hasValue(3);
            assertThat(result.stdout().totalBytes()).isEqualTo(13);
        }
    }

    @Test
    void whatAServerSendsAgainIsNotToldAgain() {
        AtomicInteger times = new AtomicInteger();
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    // This one ignores where the client is.
                    reply.stream().item(Forms.item(1, "started", "\"pid\":7"));
                    reply.item(Forms.out(2, 0, "abc"));
                    if (times.incrementAndGet() == 1) {
                        reply.cut();
                        return;
                    }
                    reply.item(Forms.out(3, 2, "cdef"));
                    reply.item(Forms.EXIT);
                });

        assertThat(start().await().stdout().text()).isEqualTo("abcdef");
        assertThat(heard.text()).isEqualTo("abcdef");
        assertThat(heard.more).containsExactly("started 7");
    }

    @Test
    void holesAreTold() {
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    reply.stream()
                            .item(
                                    Forms.item(
                                            1,
                                            "gap",
                                            "\"fd\":\"stdout\",\"offset\":0,\"bytes\":10"));
                    reply.item(Forms.out(2, 10, "x"));
                    reply.item(Forms.out(3, 20, "y"));
                    reply.item(Forms.EXIT);
                });

        ExecResult result = start().await();

        assertThat(heard.more).containsExactly("gap 10", "gap 9");
        assertThat(result.stdout().text()).isEqualTo("of the server");
    }

    @Test
    void aStreamThatNeverEndsInOrderFailsAfterAWhile() {
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    reply.stream();
                    reply.cut();
                });

        CaissonException failure =
                catchThrowableOfType(CaissonException.class, () -> start().await());

        assertThat(failure.code()).isEqualTo(ErrorCode.ENGINE_FAILED);
        assertThat(server.requests(Forms.STREAM).size()).isBetween(3, 60);
    }

    @Test
    void whatCouldNotBeRunIsAnException() {
        server.on(
                Forms.STREAM,
                (request, reply) ->
                        reply.stream()
                                .item(
                                        Forms.item(
                                                1,
                                                "exit",
                                                "\"error\":{\"code\":\"command_not_found\",\"message\":\"No"
                                                    + " x.\",\"retryable\":true,\"details\":{}}")));

        CaissonException failure =
                catchThrowableOfType(CaissonException.class, () -> start().await());

        assertThat(failure.code()).isEqualTo(ErrorCode.COMMAND_NOT_FOUND);
        assertThat(server.requests(Forms.STREAM)).hasSize(1);
    }

    @Test
    void aListenerThatFailsEndsTheCommand() {
        String kill = "POST /v1/execs/" + Forms.EX + "/kill";
        server.on(kill, Forms.EXEC);
        server.on(
                Forms.STREAM,
                (request, reply) -> reply.stream().item(Forms.out(1, 0, "x")).item(Forms.EXIT));

        CaissonException failure =
                catchThrowableOfType(
                        CaissonException.class,
                        () ->
                                start(
                                                ExecSpec.of("x"),
                                                new ExecListener() {
                                                    @Override
                                                    public void output(
                                                            OutputFd fd, ByteBuffer bytes) {
                                                        throw new IllegalStateException("mine");
                                                    }
                                                })
                                        .await());

        assertThat(failure.code()).isEqualTo(ErrorCode.CANCELLED);
        assertThat(server.requests(kill)).hasSize(1);
        assertThat(server.requests(Forms.STREAM)).hasSize(1);
    }

    @Test
    void valuesOfNewerServersAreUnknown() {
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    reply.stream().item(Forms.item(1, "sunshine", "\"how\":\"bright\""));
                    reply.item("");
                    reply.item(Forms.EXIT.replace("exited", "vanished"));
                });

        assertThat(start().await().reason()).isEqualTo(ExecReason.UNKNOWN);
    }

    @Test
    void outputCanBeReadAsStreams() throws IOException {
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    reply.stream();
                    for (int i = 0; i < 300; i++) {
                        reply.item(Forms.out(i + 1, i * 10_000L, "x".repeat(10_000)));
                    }
                    reply.item(Forms.item(400, "stderr", "\"offset\":0,\"text\":\"e\""));
                    reply.item(Forms.EXIT);
                });

        Exec exec = caisson.sandbox(Forms.SB).pipe(ExecSpec.of("x"));

        assertThat(exec.stdout().readAllBytes()).hasSize(3_000_000);
        assertThat(exec.stderr().readAllBytes()).hasSize(1);
        assertThat(exec.await().stdout().totalBytes()).isZero();
    }

    @Test
    void standardInputGoesInPiecesAndEndsOnce() throws IOException {
        String stdin = "POST /v1/execs/" + Forms.EX + "/stdin";
        server.on(stdin, "{}");
        server.on(
                Forms.STREAM,
                (request, reply) -> {
                    while (server.requests(stdin).size() < 3) {
                        Thread.onSpinWait();
                    }
                    reply.stream().item(Forms.EXIT);
                });

        Exec exec = start(ExecSpec.of("x").withStdin(true), heard);
        try (OutputStream in = exec.stdin()) {
            in.write(new byte[300_000]);
        }
        exec.await();

        assertThat(server.requests(stdin).stream().mapToInt(r -> r.text().length()).sum())
                .isEqualTo(300_000);
        assertThat(server.requests(stdin).stream().map(r -> r.query("eof")))
                .containsExactly("", "", "true");
        assertThat(server.requests().stream().filter(r -> r.path().endsWith("/execs")))
                .first()
                .extracting(StubServer.Request::text)
                .asString()
                .contains("\"stdin\":true");
    }

    @Test
    void anExecWithoutStandardInputHasNone() {
        server.on(Forms.STREAM, (request, reply) -> reply.stream().item(Forms.EXIT));

        CaissonException failure =
                catchThrowableOfType(CaissonException.class, () -> start().stdin());

        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_STATE);
    }
}
