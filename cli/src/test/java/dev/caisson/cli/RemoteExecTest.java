package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.testkit.StubServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands in sandboxes of a server, copies, and what belongs to terminals. */
@Timeout(60)
class RemoteExecTest {
    private static final String FILES = Remote.ONE + "/files";

    @TempDir private Path folder;
    private StubServer server;
    private Shell shell;

    @BeforeEach
    void open() throws IOException {
        server = StubServer.open();
        server.on("GET" + Remote.ONE, Remote.sandbox("\"build\"", "{}"));
        server.on("POST" + Remote.ONE + "/execs", Remote.EXEC);
        shell = Remote.shell(server);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    @Test
    void passesOutputOnAndExitsAsTheProgram() {
        server.on(
                Remote.STREAM,
                (request, reply) ->
                        reply.stream()
                                .item(Remote.item(1, "stdout", ",\"text\":\"out\\u001b[1m\""))
                                .item(Remote.item(2, "stderr", ",\"base64\":\"/w==\""))
                                .item(Remote.exit("\"exitCode\":7,\"reason\":\"exited\"")));

        int status =
                shell.run(
                        "exec",
                        "--env",
                        "A=b",
                        "--secret",
                        "KEY",
                        Remote.SB,
                        "ls",
                        "--json",
                        "--",
                        "x");

        assertThat(status).isEqualTo(7);
        assertThat(shell.out()).isEqualTo("out\u001b[1m");
        assertThat(shell.err()).isEqualTo("\uFFFD");
        assertThat(server.requests("POST" + Remote.ONE + "/execs").getFirst().text())
                .contains(
                        "\"argv\":[\"ls\",\"--json\",\"--\",\"x\"]",
                        "\"env\":{\"A\":\"b\"}",
                        "\"secrets\":[\"KEY\"]");
    }

    @Test
    void warnsOfAVariableThatLooksLikeACredential() {
        server.on(
                Remote.STREAM,
                (request, reply) ->
                        reply.stream().item(Remote.exit("\"exitCode\":0,\"reason\":\"exited\"")));

        assertThat(shell.run("exec", "--env", "DB_PASSWORD=correct-horse", Remote.SB, "--", "x"))
                .isZero();
        assertThat(shell.err()).contains("--env DB_PASSWORD looks like").doesNotContain("correct");
    }

    @Test
    void statusesAreThoseOfRun() {
        server.on(
                Remote.STREAM,
                (request, reply) ->
                        reply.stream().item(Remote.exit("\"signal\":15,\"reason\":\"timeout\"")));
        assertThat(shell.run("exec", Remote.SB, "--", "x")).isEqualTo(124);

        server.on(
                Remote.STREAM,
                (request, reply) ->
                        reply.stream()
                                .item(
                                        Remote.item(
                                                1,
                                                "exit",
                                                ",\"error\":{\"code\":\"command_not_found\","
                                                        + "\"message\":\"no x\",\"details\":{}}")));
        assertThat(shell.run("exec", Remote.SB, "x")).isEqualTo(127);
        assertThat(shell.run("exec", Remote.SB)).isEqualTo(125);
    }

    @Test
    void givesStandardInput() {
        String stdin = "POST /v1/execs/" + Remote.EX + "/stdin";
        server.on(stdin, "{}");
        server.on(
                Remote.STREAM,
                (request, reply) -> {
                    while (server.requests(stdin).stream()
                            .noneMatch(sent -> sent.query("eof").equals("true"))) {
                        Thread.onSpinWait();
                    }
                    reply.stream().item(Remote.exit("\"exitCode\":0,\"reason\":\"exited\""));
                });

        assertThat(shell.stdin("typed").run("exec", "-i", Remote.SB, "cat")).isZero();

        assertThat(server.requests(stdin).getFirst().text()).isEqualTo("typed");
    }

    @Test
    void comesBackToACommandThatRuns() {
        String stdin = "POST /v1/execs/" + Remote.EX + "/stdin";
        server.on("GET /v1/execs/" + Remote.EX, Remote.EXEC);
        server.on(stdin, "{}");
        server.on(
                Remote.STREAM,
                (request, reply) -> {
                    while (server.requests(stdin).isEmpty()) {
                        Thread.onSpinWait();
                    }
                    reply.stream()
                            .item(Remote.item(1, "stdout", ",\"text\":\"before and after\""))
                            .item(Remote.exit("\"exitCode\":3,\"reason\":\"exited\""));
                });

        assertThat(shell.stdin("typed").run("execs", "attach", "-i", Remote.EX)).isEqualTo(3);

        assertThat(shell.out()).isEqualTo("before and after");
        assertThat(server.requests(stdin).getFirst().text()).isEqualTo("typed");
        assertThat(server.requests("POST" + Remote.ONE + "/execs")).isEmpty();
        assertThat(server.requests("POST /v1/execs/" + Remote.EX + "/kill")).isEmpty();
    }

    @Test
    void attachesWithoutATerminalAndAsJson() {
        server.on(
                "GET /v1/execs/" + Remote.EX, Remote.EXEC.replace("\"pty\":false", "\"pty\":true"));
        server.on(
                "GET /v1/execs/" + Remote.EX + "/terminal",
                (request, reply) -> {
                    reply.upgrade();
                    reply.frame(2, "$ ".getBytes(StandardCharsets.UTF_8));
                    reply.frame(
                            1,
                            Remote.exit("\"exitCode\":0,\"reason\":\"exited\"")
                                    .getBytes(StandardCharsets.UTF_8));
                    reply.frame();
                });
        server.on(
                Remote.STREAM,
                (request, reply) ->
                        reply.stream()
                                .item(Remote.item(1, "pty", ",\"text\":\"$ \""))
                                .item(Remote.exit("\"exitCode\":0,\"reason\":\"exited\"")));

        assertThat(shell.run("execs", "attach", Remote.EX)).as(shell.err()).isZero();
        assertThat(shell.out()).isEqualTo("$ ");

        Shell json = Remote.shell(server);
        assertThat(json.run("execs", "attach", "--json", Remote.EX)).isZero();
        assertThat(json.out().lines()).hasSize(2).allMatch(line -> line.startsWith("{\"id\":"));
    }

    @Test
    void leavesACommandRunning() {
        assertThat(shell.run("exec", "-d", Remote.SB, "sleep", "9")).isZero();

        assertThat(shell.out()).isEqualTo(Remote.EX + "\n");
        assertThat(server.requests(Remote.STREAM)).isEmpty();
    }

    @Test
    void whatIsLeftRunningKeepsItsTerminalOrItsInput() {
        String route = "POST" + Remote.ONE + "/execs";

        assertThat(shell.run("exec", "-d", "-t", Remote.SB, "sh")).isZero();
        assertThat(server.requests(route).getLast().text()).contains("\"pty\":{\"rows\":");
        assertThat(shell.run("exec", "-d", "-i", Remote.SB, "cat")).isZero();
        assertThat(server.requests(route).getLast().text())
                .contains("\"stdin\":true")
                .doesNotContain("\"pty\":{");
    }

    @Test
    void saysWhatACommandWaitsFor() {
        server.on(
                "GET /v1/execs/" + Remote.EX,
                Remote.EXEC.replace("\"running\"", "\"waiting_approval\",\"approval\":\"ap1\""));
        server.on(
                Remote.STREAM,
                (request, reply) -> {
                    for (int i = 0; i < 100 && shell.err().isEmpty(); i++) {
                        java.util.concurrent.locks.LockSupport.parkNanos(100_000_000);
                    }
                    reply.stream().item(Remote.exit("\"exitCode\":0,\"reason\":\"exited\""));
                });

        assertThat(shell.run("exec", Remote.SB, "x")).isZero();

        assertThat(shell.err())
                .isEqualTo("caisson: waits for an approval: caisson approvals approve ap1\n");
    }

    /** As root, {@code cp ID:x /dev/null} once took the device from the whole machine. */
    @Test
    void aDeviceOrPipeIsWrittenToAndNotReplaced() throws Exception {
        server.on(
                "GET" + FILES + "/stat",
                "{\"path\":\"x\",\"name\":\"x\",\"type\":\"file\",\"size\":3,\"mode\":420,"
                        + "\"modifiedAt\":\"2026-11-30T12:00:00Z\"}");
        server.on("GET" + FILES, (request, reply) -> reply.bytes(new byte[] {'o', 'u', 't'}));
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        CompletableFuture<String> read =
                CompletableFuture.supplyAsync(() -> {
                    try {
                        return Files.readString(pipe);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        assertThat(shell.run("cp", Remote.SB + ":/data/x", pipe.toString()))
                .as(shell.err())
                .isZero();
        assertThat(read.get(10, TimeUnit.SECONDS)).isEqualTo("out");
        assertThat(Files.readAttributes(pipe, BasicFileAttributes.class).isOther()).isTrue();
    }

    @Test
    void copiesInAndOut() throws IOException {
        Path file = Files.writeString(folder.resolve("a%b"), "content");
        server.on(
                "PUT" + FILES,
                "{\"path\":\"/work/a\",\"name\":\"a\",\"type\":\"file\",\"size\":7,\"mode\":420}");
        server.on(
                "GET" + FILES + "/stat",
                (request, reply) -> {
                    String type = request.query("path").endsWith("work") ? "directory" : "file";
                    reply.json(
                            200,
                            "{\"path\":\"x\",\"name\":\"x\",\"type\":\""
                                    + type
                                    + "\",\"size\":3,\"mode\":420,"
                                    + "\"modifiedAt\":\"2026-11-30T12:00:00Z\"}");
                });
        server.on("GET" + FILES, (request, reply) -> reply.bytes(new byte[] {'o', 'u', 't'}));

        assertThat(shell.run("cp", file.toString(), Remote.SB + ":/work")).as(shell.err()).isZero();
        assertThat(server.requests("PUT" + FILES).getFirst().query("path"))
                .isEqualTo("/work/a%25b");
        assertThat(shell.stdin("in").run("cp", "-", Remote.SB + ":answer")).isZero();
        assertThat(server.requests("PUT" + FILES).getLast().text()).isEqualTo("in");
        assertThat(shell.run("cp", Remote.SB + ":/data/x", folder.toString())).isZero();
        assertThat(folder.resolve("x")).hasContent("out");
        assertThat(shell.run("cp", Remote.SB + ":/data/x", "-")).isZero();
        assertThat(shell.out()).isEqualTo("out");
        assertThat(shell.run("cp", "a", "b")).isEqualTo(125);
        assertThat(shell.run("cp", "/no/such", Remote.SB + ":x")).isEqualTo(125);
    }

    @Test
    void findsTheEscapeSequenceAtTheBeginningOfLinesOnly() {
        assertThat(passed("ls ~.\r~~.\r")).isEqualTo("ls ~.\r~.\r|false");
        assertThat(passed("~.")).isEqualTo("|true");
        assertThat(passed("a\r~.rest")).isEqualTo("a\r|true");
        assertThat(passed("~x")).isEqualTo("~x|false");
    }

    private static String passed(String typed) {
        EscapeFilter filter = new EscapeFilter();
        StringBuilder out = new StringBuilder();
        // One key at a time, as a terminal sends them.
        for (byte key : typed.getBytes(StandardCharsets.UTF_8)) {
            out.append(new String(filter.pass(new byte[] {key}, 1), StandardCharsets.UTF_8));
        }
        return out.append('|').append(filter.detached()).toString();
    }

    private static List<String> java(String... words) {
        List<String> command =
                new java.util.ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "--enable-native-access=ALL-UNNAMED",
                                "-cp",
                                System.getProperty("surefire.test.class.path", "")
                                        + ":"
                                        + System.getProperty("java.class.path", "")
                                        + ":"
                                        + System.getProperty("jdk.module.path", "")));
        command.addAll(List.of(words));
        return command;
    }

    @Test
    void anEmbeddedRunLoadsNoClassOfTheClient() throws Exception {
        Path log = folder.resolve("classes");
        ProcessBuilder builder =
                new ProcessBuilder(
                        java(
                                "-Xlog:class+load:file=" + log,
                                "-Dcaisson.native.dir=" + folder,
                                "dev.caisson.cli.Main",
                                "run",
                                "--",
                                "true"));
        builder.environment().remove("CAISSON_URL");

        Entry.Ended ended = Entry.finish(builder.start(), "");

        assertThat(Files.readString(log))
                .as(ended.err())
                .contains("dev.caisson.cli.RunCommand", "dev.caisson.embedded.EmbeddedProvider")
                .doesNotContain(
                        "dev.caisson.client.",
                        "dev.caisson.v1.",
                        "tools.jackson.databind",
                        "java.net.http",
                        "dev.caisson.cli.ServerCommand",
                        "dev.caisson.cli.ServeCommand");
    }

    /** The terminal of a command, which says what is typed. */
    private void terminal() {
        server.on(
                "GET /v1/execs/" + Remote.EX + "/terminal",
                (request, reply) -> {
                    reply.upgrade();
                    reply.frame(2, "$ ready ".getBytes(StandardCharsets.UTF_8));
                    String typed = reply.frame();
                    while (typed.startsWith("2:") || typed.startsWith("1:")) {
                        reply.frame(2, ("<" + typed + ">").getBytes(StandardCharsets.UTF_8));
                        typed = reply.frame();
                    }
                });
    }

    /** Runs caisson on a terminal, types, leaves by the escape sequence; what was seen. */
    private String leave(String... command) throws Exception {
        List<String> all = new java.util.ArrayList<>(List.of("dev.caisson.cli.Main"));
        all.addAll(List.of(command));
        String words = String.join("' '", java(all.toArray(String[]::new)));
        String line =
                "stty rows 31 cols 99; stty -g >before; '"
                        + words
                        + "'; echo left $?; stty -g >after";
        ProcessBuilder builder =
                new ProcessBuilder("/usr/bin/script", "-qec", line, "/dev/null")
                        .directory(folder.toFile())
                        .redirectErrorStream(true);
        builder.environment().putAll(Map.copyOf(Remote.env(server)));
        Process process = builder.start();
        Drain drain = new Drain(process.getInputStream());
        try (OutputStream keys = process.getOutputStream()) {
            waitFor(drain, "ready");
            keys.write("k\r".getBytes(StandardCharsets.UTF_8));
            keys.flush();
            waitFor(drain, "<2:");
            keys.write("~.".getBytes(StandardCharsets.UTF_8));
            keys.flush();
            waitFor(drain, "left 0");
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        return drain.text();
    }

    @Test
    void givesTheTerminalBackAndLeavesByTheEscapeSequence() throws Exception {
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/script")), "needs script(1) for a terminal");
        terminal();

        String seen = leave("shell", Remote.SB);

        assertThat(folder.resolve("after")).hasSameTextualContentAs(folder.resolve("before"));
        assertThat(seen).contains("left it running");
        assertThat(server.requests("POST" + Remote.ONE + "/execs").getFirst().text())
                .contains("\"pty\":{\"rows\":31,\"cols\":99}");
        assertThat(server.requests("DELETE" + Remote.ONE)).isEmpty();
    }

    @Test
    void comesBackToATerminalThatWasLeft() throws Exception {
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/script")), "needs script(1) for a terminal");
        terminal();
        server.on(
                "GET /v1/execs/" + Remote.EX, Remote.EXEC.replace("\"pty\":false", "\"pty\":true"));
        server.on("POST /v1/execs/" + Remote.EX + "/resize", "{}");

        String seen = leave("execs", "attach", Remote.EX);

        assertThat(folder.resolve("after")).hasSameTextualContentAs(folder.resolve("before"));
        assertThat(seen).contains("left it running; see: caisson execs attach " + Remote.EX);
        assertThat(server.requests("POST" + Remote.ONE + "/execs")).isEmpty();
        assertThat(server.requests("POST /v1/execs/" + Remote.EX + "/kill")).isEmpty();
    }

    private static void waitFor(Drain drain, String text) throws InterruptedException {
        for (int i = 0; i < 300; i++) {
            if (new String(drain.soFar(), StandardCharsets.UTF_8).contains(text)) {
                return;
            }
            Thread.sleep(100);
        }
        throw new AssertionError(
                "no '" + text + "' in: " + new String(drain.soFar(), StandardCharsets.UTF_8));
    }
}
