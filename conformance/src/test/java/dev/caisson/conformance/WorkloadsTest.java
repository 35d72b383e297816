package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What is refused to hostile code does not stop the programs that people run. */
class WorkloadsTest {
    private static String run(Sandbox sandbox, String... argv) {
        ExecResult result = sandbox.exec(ExecSpec.of(argv));
        assertThat(result.shellStatus()).as(result.stderr().text()).isZero();
        return result.stdout().text();
    }

    private static Sandbox roomy() {
        return Lab.sandbox(limits -> limits.withMemory(ByteSize.ofGib(1)).withCpus(2));
    }

    /** Homes of the JDKs beneath /usr, by their feature release. */
    private static Optional<Path> jdk(int feature) {
        try (Stream<Path> all = Files.list(Path.of("/usr/lib/jvm"))) {
            return all.filter(Files::isDirectory)
                    .filter(home -> Files.isExecutable(home.resolve("bin/javac")))
                    .filter(home ->
                            HostView.text(home.resolve("release"))
                                    .orElse("")
                                    .contains("JAVA_VERSION=\"" + feature))
                    .sorted()
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static final String JAVA =
            """
            import java.util.stream.IntStream;
            public class Main {
                public static void main(String[] args) throws Exception {
                    long started = System.nanoTime();
                    Thread.sleep(50);
                    int sum = IntStream.range(0, 1000).parallel().map(i -> i % 7).sum();
                    Process child = new ProcessBuilder("/bin/echo", "child").start();
                    String said = new String(child.getInputStream().readAllBytes()).strip();
                    try (var server = new java.net.ServerSocket(0); var client = new java.net.Socket("127.0.0.1", server.getLocalPort())) {
                        server.accept().getOutputStream().write(7);
                        sum += client.getInputStream().read();
                    }
                    long millis = (System.nanoTime() - started) / 1_000_000;
                    System.out.println(Runtime.version().feature() + " " + sum + " " + said + " " + (millis >= 50 && millis < 20_000)
                        + " " + Runtime.getRuntime().availableProcessors() + " " + (Runtime.getRuntime().maxMemory() >> 20)
                        + " " + (java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime() > 1_600_000_000_000L));
                }
            }
            """;

    @Test
    @DisplayName(
            "K37 JVMs of 17 and 25 run source files and see one CPU and a quarter of the memory"
                    + " limit as heap")
    void jvmsSeeTheirLimits() {
        List<Integer> tried = new ArrayList<>();
        for (int feature : new int[] {17, 25}) {
            Optional<Path> home = jdk(feature);
            if (home.isEmpty()) {
                continue;
            }
            tried.add(feature);
            String java = home.get().resolve("bin/java").toString();
            try (Sandbox sandbox = Lab.sandbox()) {
                sandbox.files().write("Main.java", JAVA);
                String[] told = run(sandbox, java, "Main.java").strip().split(" ", -1);
                assertThat(told)
                        .containsSequence(Integer.toString(feature), "3004", "child", "true", "1")
                        .endsWith("true");
                assertThat(Integer.parseInt(told[5])).as("heap in MiB of 512").isBetween(110, 130);
            }
            try (Sandbox control = roomy()) {
                control.files().write("Main.java", JAVA);
                String[] told = run(control, java, "Main.java").strip().split(" ", -1);
                assertThat(Integer.parseInt(told[5])).as("control: with 1 GiB").isBetween(230, 260);
            }
        }
        assumeTrue(!tried.isEmpty(), "no JDK 17 or 25 is installed beneath /usr/lib/jvm");
    }

    @Test
    @DisplayName("K37 Node runs, with a heap that fits its limit, and worker threads")
    void nodeRuns() {
        Lab.needs("node");
        String code =
                """
                const { Worker, isMainThread, parentPort } = require('worker_threads');
                const fs = require('fs');
                if (!isMainThread) { parentPort.postMessage(41); } else {
                  const started = process.hrtime.bigint();
                  new Worker('/work/main.js').on('message', n => setTimeout(() => {
                    fs.writeFileSync('/work/out', 'written');
                    const child = require('child_process').execFileSync('/bin/echo', ['child']).toString().trim();
                    const ms = Number(process.hrtime.bigint() - started) / 1e6;
                    console.log(n + 1, child, ms >= 20 && ms < 20000, Math.round(require('v8').getHeapStatistics().heap_size_limit / 1048576));
                  }, 20));
                }
                """;
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files().write("main.js", code);
            String[] told = run(sandbox, "node", "main.js").strip().split(" ", -1);
            assertThat(told).startsWith("42", "child", "true");
            assertThat(Integer.parseInt(told[3])).as("heap in MiB of 512").isLessThan(600);
            assertThat(sandbox.files().readText("out")).as("control").isEqualTo("written");
        }
    }

    @Test
    @DisplayName("K37 Python runs processes, threads, sockets, locks, asyncio and timers")
    void pythonRuns() {
        try (Sandbox sandbox = roomy()) {
            String told =
                    Lab.python(
                                    sandbox,
                                    """
                                    import asyncio, multiprocessing, os, socket, sqlite3, subprocess, tempfile, threading, time
                                    from concurrent.futures import ThreadPoolExecutor
                                    def square(x):
                                        return x * x
                                    if __name__ == '__main__':
                                        started = time.monotonic()
                                        with multiprocessing.get_context('fork').Pool(2) as pool:
                                            print(sum(pool.map(square, range(10))))
                                        with ThreadPoolExecutor(4) as threads:
                                            print(sum(threads.map(square, range(10))))
                                        print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())
                                        async def ask():
                                            server = await asyncio.start_server(lambda r, w: (w.write(b'hi'), w.close()), '127.0.0.1', 0)
                                            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                                            return await reader.read()
                                        print(asyncio.run(ask()).decode())
                                        data = sqlite3.connect('/work/data.db')
                                        data.execute('create table t(x)'), data.execute('insert into t values(5)'), data.commit()
                                        print(data.execute('select x from t').fetchone()[0])
                                        print(socket.gethostname(), tempfile.gettempdir(), os.cpu_count() >= 1)
                                        time.sleep(0.05)
                                        print(0.05 <= time.monotonic() - started < 30 and time.monotonic() < 120)
                                    """)
                            .stdout()
                            .text();
            assertThat(told.lines())
                    .containsExactly("285", "285", "child", "hi", "5", "sandbox /tmp True", "True");
        }
    }

    @Test
    @DisplayName("K37 compilers, interpreters and git run")
    void compilersInterpretersAndGitRun() {
        for (String program : List.of("gcc", "perl", "git", "awk", "tar")) {
            Lab.needs(program);
        }
        try (Sandbox sandbox = Lab.sandbox()) {
            sandbox.files()
                    .write(
                            "hello.c",
                            """
                            #include <stdio.h>
                            #include <math.h>
                            int main(void) { printf("%.0f\\n", sqrt(1764)); }
                            """);
            assertThat(
                            Lab.sh(sandbox, "gcc -O2 -Wall -o hello hello.c -lm && ./hello")
                                    .stdout()
                                    .text())
                    .isEqualTo("42\n");
            assertThat(run(sandbox, "perl", "-MPOSIX", "-e", "print floor(42.5), \"\\n\""))
                    .isEqualTo("42\n");
            assertThat(run(sandbox, "awk", "BEGIN { print 6 * 7 }")).isEqualTo("42\n");
            assertThat(
                            run(
                                    sandbox,
                                    "sh",
                                    "-c",
                                    "git init -q r && cd r && git config user.email a@b && git"
                                        + " config user.name n && echo x > f && git add f && git"
                                        + " commit -qm first && git clone -q . ../copy && git -C"
                                        + " ../copy log --format=%s"))
                    .isEqualTo("first\n");
            assertThat(
                            run(
                                    sandbox,
                                    "sh",
                                    "-c",
                                    "tar cf t.tar r && mkdir u && tar xf t.tar -C u && cat u/r/f"))
                    .isEqualTo("x\n");
        }
    }

    @Test
    @DisplayName("K37 clocks start near zero, go at their pace and keep the host's date")
    void clocksStartNearZero() throws IOException, InterruptedException {
        String ask =
                "import time; print(time.clock_gettime(time.CLOCK_BOOTTIME),"
                        + " time.clock_gettime(time.CLOCK_MONOTONIC), time.time())";
        try (Sandbox sandbox = Lab.sandbox()) {
            String[] inside = Lab.python(sandbox, ask).stdout().text().strip().split("\\s+", -1);
            String[] outside =
                    Lab.outside("/usr/bin/python3", "-c", ask).text().strip().split("\\s+", -1);
            assertThat(Double.parseDouble(inside[0])).isBetween(0.0, 60.0);
            assertThat(Double.parseDouble(inside[1])).isBetween(0.0, 60.0);
            assertThat(Double.parseDouble(outside[0])).as("control").isGreaterThan(60);
            assertThat(Double.parseDouble(outside[2]) - Double.parseDouble(inside[2]))
                    .isBetween(-1.0, 30.0);
            Lab.sh(sandbox, "sleep 1");
            String[] later = Lab.python(sandbox, ask).stdout().text().strip().split("\\s+", -1);
            assertThat(Double.parseDouble(later[1]) - Double.parseDouble(inside[1]))
                    .isBetween(1.0, 30.0);
        }
    }
}
