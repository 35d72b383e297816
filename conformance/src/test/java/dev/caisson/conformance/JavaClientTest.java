package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecReason;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.PtySize;
import dev.caisson.api.ResultFile;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.Tunnel;
import dev.caisson.api.User;
import dev.caisson.api.Watch;
import dev.caisson.client.Query;
import dev.caisson.client.ServiceClient;
import dev.caisson.v1.KeyRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Commands and files by the Java client against a real server, and what it is refused. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class JavaClientTest extends JavaClientFixture {
    // ---- commands

    @Test
    void commandsAreCaptured() {
        Sandbox sandbox = caisson.create();

        ExecResult failed = sandbox.exec(ExecSpec.shell("echo out; echo err >&2; exit 3"));
        assertThat(failed.reason()).isEqualTo(ExecReason.EXITED);
        assertThat(failed.exitCode()).hasValue(3);
        assertThat(failed.stdout().text()).isEqualTo("out\n");
        assertThat(failed.stderr().text()).isEqualTo("err\n");

        ExecResult set =
                sandbox.exec(
                        ExecSpec.shell("pwd; echo $A").withCwd("/tmp").withEnv(Map.of("A", "b")));
        assertThat(set.stdout().text()).isEqualTo("/tmp\nb\n");

        ExecResult cut =
                sandbox.exec(ExecSpec.of("seq", "1", "9999").withOutputLimit(ByteSize.ofKib(4)));
        assertThat(cut.stdout().truncated()).isTrue();
        assertThat(cut.stdout().totalBytes()).isEqualTo(48_888);

        ExecResult late =
                sandbox.exec(ExecSpec.of("sleep", "30").withTimeout(Duration.ofMillis(300)));
        assertThat(late.reason()).isEqualTo(ExecReason.TIMEOUT);
        // Bytes that are no text come as they are.
        assertThat(sandbox.exec("printf", "\\377\\000\\376").stdout().bytes())
                .containsExactly(0xFF, 0, 0xFE);
    }

    @Test
    void outputStreamsWhileACommandRuns() {
        Sandbox sandbox = caisson.create();
        Heard heard = new Heard();
        Exec exec =
                sandbox.start(
                        ExecSpec.shell("echo first; read line; echo second $line").withStdin(true),
                        heard);

        heard.await("first\n");
        assertThat(exec.await(Duration.ofMillis(10))).isEmpty(); // it waits for its input
        write(exec, "in\n");

        assertThat(end(exec).stdout().text()).isEqualTo("first\nsecond in\n");
        assertThat(heard.text.toString()).isEqualTo("first\nsecond in\n");
    }

    @Test
    void inputIsWrittenAndOutputReadAsStreams() throws Exception {
        byte[] sent = new byte[3 << 20];
        new java.util.Random(7).nextBytes(sent);
        Exec exec = caisson.create().pipe(ExecSpec.of("cat").withStdin(true));
        Thread writer =
                Thread.ofVirtual()
                        .start(() -> {
                            try (OutputStream in = exec.stdin()) {
                                in.write(sent);
                            } catch (IOException e) {
                                exec.kill(); // what was read is too little then
                            }
                        });

        assertThat(exec.stdout().readAllBytes()).isEqualTo(sent);

        assertThat(end(exec).exitCode()).hasValue(0);
        assertThat(writer.join(LONG)).isTrue();
    }

    @Test
    void aTerminalIsTypedIntoAndResized() {
        Heard heard = new Heard();
        Exec exec =
                caisson.create()
                        .start(
                                ExecSpec.of("/bin/sh").withPty(new PtySize(24, 80)).withStdin(true),
                                heard);

        write(exec, "stty size; tty\n");
        heard.await("24 80");
        heard.await("/dev/pts/");
        exec.resize(33, 99);
        write(exec, "stty size\n");
        heard.await("33 99");
        write(exec, "exit 5\n");

        assertThat(end(exec).exitCode()).hasValue(5);
    }

    @Test
    void commandsAreSignalledKilledAndCancelled() {
        Sandbox sandbox = caisson.create();
        Heard heard = new Heard();
        Exec trapped =
                sandbox.start(
                        ExecSpec.shell(
                                "trap 'echo got; exit 7' INT; echo ready; while :; do sleep 0.05;"
                                        + " done"),
                        heard);
        Exec killed = sandbox.start(ExecSpec.of("sleep", "60"));
        Exec cancelled = sandbox.start(ExecSpec.of("sleep", "60"));

        heard.await("ready");
        trapped.signal(Exec.SIGINT);
        killed.kill();
        cancelled.cancel();

        assertThat(end(trapped).exitCode()).hasValue(7);
        assertThat(end(killed).reason()).isEqualTo(ExecReason.KILLED);
        assertThat(end(cancelled).reason()).isIn(ExecReason.CANCELLED, ExecReason.KILLED);
        // Control: what was not killed goes on.
        assertThat(sandbox.exec("echo", "on").stdout().text()).isEqualTo("on\n");
    }

    @Test
    void usersOfASandboxRunTheirOwnCommands() {
        Sandbox sandbox = caisson.create();
        sandbox.addUser("alice");

        ExecResult hers = sandbox.exec(ExecSpec.of("id", "-un").withUser(User.named("alice")));

        assertThat(hers.stdout().text()).isEqualTo("alice\n");
        assertThat(sandbox.exec("id", "-un").stdout().text()).isEqualTo("sandbox\n");
    }

    @Test
    void aPortInsideIsDialled() throws Exception {
        Sandbox sandbox = caisson.create();
        Heard heard = new Heard();
        sandbox.start(
                Lab.pythonSpec(
                        """
                        import socket
                        s = socket.create_server(('127.0.0.1', 8100))
                        print('ready', flush=True)
                        while True:
                            c, _ = s.accept()
                            data = b''
                            while part := c.recv(4096):
                                data += part
                            c.sendall(data[::-1])
                            c.close()
                        """),
                heard);
        heard.await("ready");

        try (Tunnel tunnel = sandbox.dial(8100)) {
            try (OutputStream out = tunnel.output()) {
                out.write("abc".getBytes(StandardCharsets.US_ASCII));
            }
            assertThat(new String(tunnel.input().readAllBytes(), StandardCharsets.US_ASCII))
                    .isEqualTo("cba");
        }
        assertThatThrownBy(
                        () -> {
                            // Nobody listens there: refused at once, or by the end of the stream.
                            try (Tunnel nobody = sandbox.dial(8101)) {
                                nobody.output().write(1);
                                if (nobody.input().read() < 0) {
                                    throw new IOException("ended");
                                }
                            }
                        })
                .isInstanceOfAny(IOException.class, CaissonException.class);
    }

    // ---- files

    @Test
    void filesAreWrittenReadListedAndRemoved(@TempDir Path folder) throws IOException {
        Sandbox sandbox = caisson.create();
        SandboxFiles files = sandbox.files();
        files.write("a.txt", "0123456789");
        assertThat(files.write("d/run", new ByteArrayInputStream(new byte[5]), 0755)).isEqualTo(5);
        assertThat(sandbox.exec("stat", "-c", "%a %U", "a.txt", "d/run").stdout().text())
                .isEqualTo("644 sandbox\n755 sandbox\n");

        ByteArrayOutputStream part = new ByteArrayOutputStream();
        assertThat(files.read("a.txt", 2, 3, part)).isEqualTo(3);
        assertThat(part.toString(StandardCharsets.UTF_8)).isEqualTo("234");
        assertThat(files.readText("/work/a.txt")).isEqualTo("0123456789");
        assertThat(files.get("a.txt", folder.resolve("here"))).isEqualTo(10);
        assertThat(folder.resolve("here")).hasContent("0123456789");

        assertThat(files.list("/work")).extracting(FileInfo::path).containsOnly("a.txt", "d");
        assertThat(files.listTree("/work")).extracting(FileInfo::path).contains("d/run");
        assertThat(files.stat("d").orElseThrow().type()).isEqualTo(FileType.DIRECTORY);
        assertThat(files.stat("nothing")).isEmpty();

        files.makeDirectory("x/y");
        files.move("a.txt", "x/y/b");
        assertThat(sandbox.exec("cat", "x/y/b").stdout().text()).isEqualTo("0123456789");
        files.remove("d/run");
        files.removeTree("x");
        assertThat(files.listTree("/work")).extracting(FileInfo::path).containsExactly("d");
    }

    @Test
    void namesThatAreHardToWriteAreFound() {
        Sandbox sandbox = caisson.create();
        SandboxFiles files = sandbox.files();
        List<String> names = List.of("a b", "+", "100%", "ü", "#?&=", "a\"'");
        for (String name : names) {
            files.write(SandboxFiles.escape(name), name);
        }

        assertThat(files.list("/work"))
                .extracting(FileInfo::path)
                .containsExactlyInAnyOrderElementsOf(
                        names.stream().map(SandboxFiles::escape).toList());
        for (String name : names) {
            assertThat(files.readText(SandboxFiles.escape(name))).isEqualTo(name);
            assertThat(sandbox.exec("cat", name).stdout().text()).isEqualTo(name);
        }
    }

    @Test
    void aFolderGoesUpAndWhatIsNewComesBack(@TempDir Path folder) throws IOException {
        Sandbox sandbox = caisson.create();
        SandboxFiles files = sandbox.files();
        Path up = Files.createDirectories(folder.resolve("up/sub"));
        Files.writeString(up.resolve("in.txt"), "hallo");
        Files.createSymbolicLink(up.resolve("link"), Path.of("/etc/passwd"));
        files.put(folder.resolve("up"), "/work/");
        assertThat(files.readText("up/sub/in.txt")).isEqualTo("hallo");
        assertThat(files.stat("up/sub/link")).isEmpty();

        files.mark();
        sandbox.exec(ExecSpec.shell("tr a-z A-Z < up/sub/in.txt > out.txt; ln -s /etc/passwd l"));
        assertThat(files.changes()).extracting(ResultFile::path).contains("out.txt", "l");
        Path down = folder.resolve("down");
        List<ResultFile> brought = files.collect(down, ByteSize.ofMib(1));

        assertThat(brought.stream().filter(ResultFile::collected))
                .extracting(ResultFile::path)
                .containsExactly("out.txt");
        assertThat(down.resolve("out.txt")).hasContent("HALLO");
        assertThat(down.resolve("l")).doesNotExist();
        assertThat(down.resolve("up")).doesNotExist();
    }

    @Test
    void changesInAFolderAreTold() {
        Sandbox sandbox = caisson.create();
        Queue<String> told = new ConcurrentLinkedQueue<>();
        try (Watch _ = sandbox.files().watch("/work", true, event -> told.add(event.path()))) {
            sandbox.exec(ExecSpec.shell("echo x > seen.txt"));
            await().atMost(Duration.ofSeconds(15))
                    .until(() -> told.stream().anyMatch(path -> path.endsWith("seen.txt")));
        }
    }

    // ---- errors

    @Test
    void refusalsKeepTheirCodes() {
        Sandbox sandbox = caisson.create();
        SandboxFiles files = sandbox.files();
        files.makeDirectory("d");
        refused(ErrorCode.NOT_FOUND, () -> caisson.sandbox("nothing"));
        refused(ErrorCode.NOT_FOUND, () -> files.read("nothing"));
        refused(ErrorCode.NOT_REGULAR, () -> files.read("d"));
        refused(ErrorCode.INVALID, () -> files.read("../etc/passwd"));
        refused(ErrorCode.COMMAND_NOT_FOUND, () -> sandbox.exec("no-such-program"));
        refused(ErrorCode.NOT_EXECUTABLE, () -> sandbox.exec("/etc/hostname"));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> sandbox.exec(ExecSpec.of("id").withUser(User.named("root"))));
        sandbox.close();
        refused(ErrorCode.SANDBOX_ENDED, () -> sandbox.exec("true"));
        String name = name();
        caisson.create(SandboxSpec.defaults().withName(name));
        refused(
                ErrorCode.ALREADY_EXISTS,
                () -> caisson.create(SandboxSpec.defaults().withName(name)));
    }

    @Test
    void aKeyIsAskedForWhatItMayDo() {
        String agent =
                java.util.Objects.requireNonNull(
                        client.keys()
                                .create(new KeyRequest(name(), "agent", List.of(), null, null))
                                .key());
        try (ServiceClient narrow = ServiceClient.open(config(agent))) {
            assertThat(narrow.info().version()).isNotBlank(); // control
            refused(ErrorCode.POLICY_DENIED, () -> narrow.keys().list(Query.FIRST));
        }
        String wrong = "caisson_" + "0".repeat(40);
        try (ServiceClient nobody = ServiceClient.open(config(wrong))) {
            CaissonException e = refused(ErrorCode.UNAUTHENTICATED, nobody::info);
            assertThat(e.toString() + e.remedy()).doesNotContain(wrong);
        }
    }
}
