package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a program finds around it: devices, sockets, its folder, its environment. */
class SurfaceTest {
    private static final List<String> DEVICES =
            List.of(
                    "empty", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm",
                    "stderr", "stdin", "stdout", "tty", "urandom", "zero");

    @Test
    @DisplayName("K40 /dev holds only what every program may have, and nothing can be added")
    void devHoldsOnlyWhatEveryProgramMayHave() {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "ls -A /dev").stdout().text().lines())
                    .containsExactlyElementsOf(DEVICES);
            assertThat(Lab.sh(sandbox, "find /dev -type b").stdout().text()).isEmpty();
            assertThat(
                            Lab.sh(
                                            sandbox,
                                            "for t in 'c 1 1' 'b 7 0' 'c 1 3'; do mknod /work/d $t;"
                                                    + " done; ls")
                                    .stdout()
                                    .text())
                    .as("mknod")
                    .isEmpty();
            assertThat(Lab.sh(sandbox, "mkfifo /work/pipe && ls").stdout().text())
                    .as("control: mknod of a pipe")
                    .isEqualTo("pipe\n");
        }
        assertThat(HostView.entries(Path.of("/dev")))
                .as("control")
                .hasSizeGreaterThan(DEVICES.size());
    }

    @Test
    @DisplayName("K42 no socket of a service of the host is there")
    void noSocketOfAServiceIsThere() throws IOException, InterruptedException {
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(Lab.sh(sandbox, "find / -type s 2>/dev/null").stdout().text()).isEmpty();
            assertThat(Lab.sh(sandbox, "ls -A /run /var/run").stdout().text())
                    .isEqualTo("/run:\nlock\n\n/var/run:\nlock\n");
            Lab.Outside control = Lab.outside("find", "/run", "-type", "s");
            assertThat(control.text()).as("control").contains("launcher.sock");
        }
    }

    @Test
    @DisplayName("K43 abstract sockets of the host are invisible and cannot be reached")
    void abstractSocketsOfTheHostAreInvisible() throws IOException, InterruptedException {
        Lab.needs("python3");
        String name = "caisson-canary-" + ProcessHandle.current().pid();
        String connect =
                "import socket; s = socket.socket(socket.AF_UNIX); print(s.connect_ex('\\0"
                        + name
                        + "'))";
        Process holder =
                new ProcessBuilder(
                                "/usr/bin/python3",
                                "-c",
                                "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('\\0"
                                        + name
                                        + "'); s.listen(9); print('bound', flush=True);"
                                        + " sys.stdin.read()")
                        .start();
        try (Sandbox sandbox = Lab.sandbox()) {
            assertThat(holder.inputReader(StandardCharsets.UTF_8).readLine()).isEqualTo("bound");
            // The sandbox's own way to sudo is all there is.
            assertThat(Lab.sh(sandbox, "grep -o '@.*' /proc/net/unix").stdout().text())
                    .isEqualTo("@caisson-sudo\n");
            assertThat(Lab.python(sandbox, connect).stdout().text())
                    .as("ECONNREFUSED")
                    .isEqualTo("111\n");
            assertThat(HostView.text(Path.of("/proc/net/unix")).orElseThrow())
                    .as("control")
                    .contains("@" + name);
            assertThat(Lab.outside("/usr/bin/python3", "-c", connect).text())
                    .as("control")
                    .isEqualTo("0\n");
        } finally {
            holder.getOutputStream().close();
            holder.waitFor(5, TimeUnit.SECONDS);
            holder.destroy();
        }
    }

    @Test
    @DisplayName("K44 a program has its three descriptors and no other")
    void aProgramHasItsThreeDescriptors() {
        try (Sandbox sandbox = Lab.sandbox()) {
            // The fourth is ls's own, of the folder.
            assertThat(sandbox.exec("ls", "/proc/self/fd").stdout().text())
                    .isEqualTo("0\n1\n2\n3\n");
            assertThat(Lab.sh(sandbox, "exec 9</etc/passwd; ls /proc/self/fd").stdout().text())
                    .as("control")
                    .isEqualTo("0\n1\n2\n3\n9\n");
        }
    }

    @Test
    @DisplayName(
            "K45 the working directory is a folder of the sandbox, never one behind a descriptor")
    void theWorkingDirectoryIsAFolderOfTheSandbox() throws IOException, InterruptedException {
        try (Sandbox sandbox = Lab.sandbox()) {
            Lab.sh(sandbox, "ln -s /proc/self/fd fds; ln -s /proc/1/root root; mkdir ok");
            for (String cwd :
                    List.of(
                            "/proc/self/fd/7",
                            "/proc/self/fd/3",
                            "/proc/self/fd/10/../../..",
                            "/proc/1/root",
                            "/proc/1/cwd",
                            "/work/fds/7",
                            "/work/root",
                            "/work/../../..",
                            "/work/root/..")) {
                for (int round = 0; round < 2; round++) {
                    assertThat(folder(sandbox, cwd)).as(cwd).isIn("refused", "/");
                }
            }
            assertThat(folder(sandbox, "/work/ok")).as("control").isEqualTo("/work/ok");
        }
        Process cli = Lab.cli("run", "--workdir", "/proc/self/fd/7", "--", "pwd");
        assertThat(Lab.finish(cli).status()).isEqualTo(125);
        Lab.Outside control = Lab.finish(Lab.cli("run", "--workdir", "/tmp", "--", "pwd"));
        assertThat(control.text()).as("control").isEqualTo("/tmp\n");
    }

    /** Where an exec finds itself; checks that what it sees there is the sandbox's. */
    private static String folder(Sandbox sandbox, String cwd) {
        try {
            ExecResult result =
                    sandbox.exec(
                            ExecSpec.of(
                                            "/bin/sh",
                                            "-c",
                                            "pwd -P; cat etc/hostname ../etc/hostname 2>/dev/null")
                                    .withCwd(cwd));
            List<String> lines = result.stdout().text().lines().toList();
            assertThat(lines.subList(1, lines.size())).allMatch("sandbox"::equals);
            return lines.getFirst();
        } catch (CaissonException e) {
            assertThat(e.code())
                    .isIn(
                            ErrorCode.INVALID,
                            ErrorCode.NOT_FOUND,
                            ErrorCode.PERMISSION_DENIED,
                            ErrorCode.NOT_REGULAR);
            return "refused";
        }
    }

    @Test
    @DisplayName(
            "K47 the environment is HOME, PATH, LANG and what was given, whatever the host's is")
    void theEnvironmentHoldsNothingOfTheHosts() throws IOException, InterruptedException {
        try (Sandbox sandbox = Lab.sandbox()) {
            String env = sandbox.exec("/usr/bin/env").stdout().text();
            assertThat(env.lines().map(line -> line.substring(0, line.indexOf('='))))
                    .containsExactlyInAnyOrder("HOME", "PATH", "LANG");
            ExecResult given =
                    sandbox.exec(ExecSpec.of("/usr/bin/env").withEnv(Map.of("GIVEN", "a\nb=c")));
            assertThat(given.stdout().text())
                    .as("control")
                    .contains("GIVEN=a\nb=c\n")
                    .contains(env);
        }
        ProcessBuilder cli =
                new ProcessBuilder(
                        Lab.checkout().resolve("caisson").toString(), "run", "--", "/usr/bin/env");
        Map<String, String> secrets =
                Map.of("AWS_SECRET_ACCESS_KEY", "canary-4711", "LD_AUDIT", "/canary-4711.so");
        cli.environment().putAll(secrets);
        cli.environment().put("CAISSON_NO_BUILD", "1");
        assertThat(Lab.finish(cli.start()).text()).contains("HOME=").doesNotContain("canary-4711");
        ProcessBuilder outside = new ProcessBuilder("/usr/bin/env");
        outside.environment().putAll(secrets);
        assertThat(Lab.finish(outside.start()).text()).as("control").contains("canary-4711");
    }

    @Test
    @DisplayName("K47 variables and start-up files that steer tools act inside only")
    void whatSteersToolsActsInsideOnly(@TempDir Path host) throws IOException {
        Lab.needs("gcc");
        Path canary = host.resolve("canary");
        String touch = "mkdir -p " + host + "; echo hostile > " + canary;
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files()
                    .write(
                            "/work/evil.c",
                            "#include <stdlib.h>\n__attribute__((constructor)) void f(void)"
                                    + " { unsetenv(\"LD_PRELOAD\"); system(\""
                                    + touch
                                    + "\"); }");
            sandbox.files().write("/home/sandbox/.bashrc", touch + "\n");
            sandbox.files().write("/home/sandbox/.profile", touch + "\n");
            sandbox.files()
                    .write("/work/sitecustomize.py", "import os; os.system('" + touch + "')");
            ExecResult built = Lab.sh(sandbox, "gcc -shared -fPIC -o evil.so evil.c");
            assertThat(built.shellStatus()).as(built.stderr().text()).isZero();
            Map<String, String> env =
                    Map.of(
                            "LD_PRELOAD",
                            "/work/evil.so",
                            "BASH_ENV",
                            "/home/sandbox/.bashrc",
                            "PYTHONPATH",
                            "/work",
                            "NODE_OPTIONS",
                            "--require=/work/evil.js",
                            "GIT_SSH_COMMAND",
                            touch,
                            "JAVA_TOOL_OPTIONS",
                            "-x");
            sandbox.exec(ExecSpec.of("bash", "-lc", "true").withEnv(env));
            sandbox.files().write("/work/after.txt", "files work as before");

            assertThat(Files.exists(canary)).as("on the host").isFalse();
            assertThat(Lab.sh(sandbox, "cat " + canary).stdout().text())
                    .as("control: it acted")
                    .isEqualTo("hostile\n");
        }
    }

    @Test
    @DisplayName("K49 a program in anonymous memory runs, and is under the same rules")
    void aProgramInAnonymousMemoryRunsUnderTheSameRules() {
        try (Sandbox sandbox = Lab.sandbox()) {
            ExecResult result =
                    Lab.python(
                            sandbox,
                            """
                            import os
                            memory = os.memfd_create('hidden', 0)
                            os.write(memory, open('/usr/bin/grep', 'rb').read())
                            os.execve(memory, ['hidden', '-E', 'Cap...:|Seccomp:|NoNewPrivs', '/proc/self/status'], {})
                            """);
            assertThat(result.stdout().text().lines())
                    .hasSize(7)
                    .allMatch(line -> line.matches("Cap...:\t0{16}|NoNewPrivs:\t1|Seccomp:\t2"));
        }
    }

    @Test
    @DisplayName("K45 a command with a slash that is no program of the sandbox is refused")
    void programsBehindDescriptorsOfTheAgentCannotBeRun() {
        try (Sandbox sandbox = Lab.sandbox()) {
            for (String program :
                    List.of(
                            "/proc/1/exe",
                            "/proc/1/fd/3",
                            "/proc/self/fd/5",
                            "/proc/1/root/bin/id")) {
                CaissonException refusal =
                        catchThrowableOfType(CaissonException.class, () -> sandbox.exec(program));
                assertThat(refusal).as(program).isNotNull();
                assertThat(refusal.code())
                        .isIn(ErrorCode.COMMAND_NOT_FOUND, ErrorCode.NOT_EXECUTABLE);
            }
            assertThat(sandbox.exec("/usr/bin/id").succeeded()).as("control").isTrue();
        }
    }
}
