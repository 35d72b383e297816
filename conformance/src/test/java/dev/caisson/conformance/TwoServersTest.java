package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** Two servers with a launcher each on one PostgreSQL: neither touches what is the other's. */
@Isolated("starts launchers, servers and a database of its own")
@Timeout(180)
class TwoServersTest {
    private static final int ROUNDS =
            Math.max(1, Integer.getInteger("caisson.crash.rounds", 12) / 3);
    private static final long SEED = Long.getLong("caisson.crash.seed", System.nanoTime());
    private static final String PASSWORD = "only-for-this-test";

    /** A PostgreSQL out of the programs that are installed; as module store's tests have it. */
    private static final class Database implements AutoCloseable {
        private final Path folder;
        private final int port;
        private final List<String> as;
        private final Path programs;
        private final Process process;

        Database() throws Exception {
            programs = programs().orElseGet(() -> abort("needs Debian's package postgresql"));
            folder = Files.createTempDirectory("caisson-two");
            port = LiveService.freePort();
            boolean known =
                    Files.readAllLines(Path.of("/etc/passwd")).stream()
                            .anyMatch(line -> line.startsWith("postgres:"));
            String user = known ? "postgres" : "nobody";
            as = List.of("setpriv", "--reuid=" + user, "--regid=65534", "--clear-groups");
            Files.writeString(folder.resolve("password"), PASSWORD);
            run("chown", "-R", user, folder.toString());
            runAs(
                    "initdb",
                    "--pgdata=" + data(),
                    "--username=caisson",
                    "--auth=scram-sha-256",
                    "--pwfile=" + folder.resolve("password"),
                    "--encoding=UTF8",
                    "--no-sync");
            process = start();
            await();
        }

        private static Optional<Path> programs() {
            try (Stream<Path> versions = Files.list(Path.of("/usr/lib/postgresql"))) {
                return versions.map(version -> version.resolve("bin"))
                        .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                        .max(Comparator.naturalOrder());
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        private Path data() {
            return folder.resolve("data");
        }

        private Process start() throws IOException {
            return new ProcessBuilder(
                            command(
                                    "postgres",
                                    "-D",
                                    data().toString(),
                                    "-p",
                                    "" + port,
                                    "-c",
                                    "listen_addresses=127.0.0.1",
                                    "-c",
                                    "unix_socket_directories=" + folder))
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("log").toFile())
                    .start();
        }

        private List<String> command(String program, String... arguments) {
            List<String> command = new ArrayList<>(as);
            command.add(programs.resolve(program).toString());
            command.addAll(List.of(arguments));
            return command;
        }

        private void runAs(String program, String... arguments) throws Exception {
            run(command(program, arguments).toArray(String[]::new));
        }

        private void run(String... command) throws Exception {
            Process started =
                    new ProcessBuilder(command)
                            .directory(folder.toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start();
            assertThat(started.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(started.exitValue()).as(String.join(" ", command)).isZero();
        }

        private void await() throws Exception {
            for (int tries = 0; ; tries++) {
                Process asked =
                        new ProcessBuilder(
                                        programs.resolve("pg_isready").toString(),
                                        "-h",
                                        "127.0.0.1",
                                        "-p",
                                        "" + port)
                                .redirectErrorStream(true)
                                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                                .start();
                if (asked.waitFor() == 0) {
                    return;
                }
                assertThat(tries)
                        .as(() -> HostView.text(folder.resolve("log")).orElse(""))
                        .isLessThan(200);
                LiveService.pause(100);
            }
        }

        String[] settings(String node) {
            return new String[] {
                "store.url=postgresql://caisson@127.0.0.1:" + port + "/postgres",
                "store.passwordFile=" + folder.resolve("password"),
                "node=" + node
            };
        }

        @Override
        public void close() throws IOException {
            try {
                new ProcessBuilder("kill", "-QUIT", Long.toString(process.pid())).start().waitFor();
                process.waitFor(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            LiveService.remove(folder);
        }
    }

    @Test
    void neitherTouchesWhatIsTheOthers() throws Exception {
        Lab.needsSandboxes();
        try (Database database = new Database();
                LiveService one = LiveService.start(database.settings("one"));
                LiveService two = two(database, one)) {
            Api first = one.admin();
            Api second = two.api(one.adminKey()); // keys are of the store, not of a server
            String mine = first.sandbox(Map.of("name", "mine"));
            String theirs = second.sandbox(Map.of("name", "theirs"));
            String slow =
                    second.post(
                                    "/v1/sandboxes/" + theirs + "/execs?mode=detach",
                                    Map.of("command", "sleep 8; echo survived"))
                            .ok(202)
                            .path("id")
                            .asString();

            // Each sees both; only its own it can use: the other's address is told.
            assertThat(first.all("/v1/sandboxes")).hasSize(2);
            Api.Answer wrong =
                    first.post("/v1/sandboxes/" + theirs + "/execs", Map.of("command", "true"));
            assertThat(wrong.status()).as(wrong::toString).isEqualTo(421);
            assertThat(wrong.code()).isEqualTo("wrong_server");
            assertThat(wrong.text()).contains("127.0.0.1:" + two.port());
            assertThat(first.delete("/v1/sandboxes/" + theirs).status()).isEqualTo(421);
            assertThat(second.out(theirs, "echo ok")).isEqualTo("ok\n");

            one.killServer();
            assertThat(second.out(theirs, "echo still")).isEqualTo("still\n");
            assertThat(second.delete("/v1/sandboxes/" + mine).status()).isEqualTo(421);
            assertThat(second.get("/v1/sandboxes/" + mine).ok().path("state").asString())
                    .isEqualTo("running");
            assertThat(HostView.processes(mine)).isNotEmpty();
            one.startServer();
            assertThat(first.out(mine, "echo back")).isEqualTo("back\n");
            assertThat(second.get("/v1/sandboxes/" + theirs).ok().path("state").asString())
                    .isEqualTo("running");

            two.killServer();
            assertThat(first.get("/v1/sandboxes/" + theirs).ok().path("state").asString())
                    .isEqualTo("running");
            assertThat(HostView.processes(theirs)).isNotEmpty();
            // Names are of the tenant, whichever server has them.
            assertThat(first.post("/v1/sandboxes", Map.of("name", "theirs")).status())
                    .isEqualTo(409);
            two.startServer();
            assertThat(Api.stdout(second.get("/v1/execs/" + slow + "?waitMillis=20000").ok()))
                    .isEqualTo("survived\n");
            ServiceTest.assertNoHoles(first.events());

            onlyItsOwnAreLost(two, first, second, mine, theirs);
        }
    }

    /** The other launcher dies. */
    private static void onlyItsOwnAreLost(
            LiveService two, Api first, Api second, String mine, String theirs) throws Exception {
        two.killLauncher();
        two.startLauncher();
        org.awaitility.Awaitility.await()
                .atMost(java.time.Duration.ofSeconds(30))
                .until(() ->
                        second.get("/v1/sandboxes/" + theirs)
                                .ok()
                                .path("state")
                                .asString()
                                .equals("lost"));
        assertThat(first.out(mine, "echo fine")).isEqualTo("fine\n");
    }

    @Test
    @Timeout(value = 20, unit = TimeUnit.MINUTES)
    void eitherIsKilledUnderTheLoadOfBoth() throws Exception {
        Lab.needsSandboxes();
        try (Database database = new Database();
                LiveService one = LiveService.start(database.settings("one"));
                LiveService two = two(database, one)) {
            String key = one.adminKey();
            List<LiveService> services = List.of(one, two);
            List<Acknowledged> told = List.of(new Acknowledged(), new Acknowledged());
            Random random = new Random(SEED);
            for (int round = 0; round < ROUNDS; round++) {
                int killed = round % 2;
                int other = 1 - killed;
                Api survivor = services.get(other).api(key);
                List<ServiceLoad> loads = new ArrayList<>();
                for (int i = 0; i < 2; i++) {
                    loads.add(
                            ServiceLoad.start(
                                    services.get(i).api(key),
                                    told.get(i),
                                    SEED + 2L * round + i,
                                    false));
                }
                LiveService.pause(300 + random.nextInt(1200));
                services.get(killed).killServer();
                loads.get(killed).stop();
                // The other goes on as if nothing had been, and so do the sandboxes of the dead.
                untouched(survivor, told.get(killed));
                LiveService.pause(500);
                untouched(survivor, told.get(killed));
                loads.get(other).stop();
                told.get(other).verify(survivor);
                services.get(killed).startServer();
                told.get(killed).verify(services.get(killed).api(key));
                for (int i = 0; i < 2; i++) {
                    ServiceCrashTest.thin(services.get(i).api(key), told.get(i));
                }
            }
            assertThat(told.getFirst().size()).isGreaterThan(ROUNDS);
            assertThat(told.getLast().size()).isGreaterThan(ROUNDS);
            for (LiveService service : services) {
                endAll(service.api(key), service);
            }
            Acknowledged.verifyAccounts(one.api(key));
        }
    }

    /** Whatever runs at a server that is dead still runs, and is told so by the other. */
    private static void untouched(Api other, Acknowledged told) {
        for (String id : told.sandboxesIn("running")) {
            assertThat(other.get("/v1/sandboxes/" + id).ok().path("state").asString())
                    .as(id)
                    .isEqualTo("running");
            assertThat(HostView.processes(id)).as(id).isNotEmpty();
            assertThat(other.delete("/v1/sandboxes/" + id).status()).isEqualTo(421);
        }
    }

    /** Ends what is a server's own; the last word of each is in the accounts then. */
    private static void endAll(Api api, LiveService service) {
        String mine = "127.0.0.1:" + service.port();
        api.all("/v1/sandboxes?state=running,paused")
                .forEach(sandbox -> {
                    Api.Answer ended = api.delete("/v1/sandboxes/" + sandbox.path("id").asString());
                    if (ended.status() != 200) {
                        assertThat(ended.status()).as(ended::toString).isEqualTo(421);
                        assertThat(ended.text()).doesNotContain(mine);
                    }
                });
    }

    /** Keys of a store are sealed with the server key, which both have. */
    private static LiveService two(Database database, LiveService one) throws IOException {
        LiveService two = LiveService.prepared(null, database.settings("two"));
        Files.createDirectories(two.data());
        Files.copy(one.data().resolve("server.key"), two.data().resolve("server.key"));
        two.startLauncher();
        two.startServer();
        return two;
    }
}
