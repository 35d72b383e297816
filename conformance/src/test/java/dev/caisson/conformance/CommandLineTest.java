package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.cli.CommandLines;
import dev.caisson.cli.CommandLines.Ended;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Sandboxes, commands and files by the commands of {@code caisson}, against a real server. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
class CommandLineTest extends CommandLineFixture {
    // ---- sandboxes

    @Test
    void aSandboxIsMadeShownListedAndRemoved() {
        String name = name();
        JsonNode made =
                json(
                        "create",
                        "--json",
                        "--name",
                        name,
                        "--label",
                        "of=" + name,
                        "--memory",
                        "64m",
                        "--lifetime",
                        "10m",
                        "--env",
                        "GREETING=hallo");
        String id = id(made);
        String other = create();

        assertThat(made.path("state").asString()).isEqualTo("running");
        assertThat(made.path("limits").path("memoryBytes").asLong()).isEqualTo(64 << 20);
        assertThat(id(json("show", "--json", name))).isEqualTo(id);
        assertThat(ok("show", id)).contains("name\t" + name);
        assertThat(items("ls", "--json", "--label", "of=" + name)).hasSize(1);
        assertThat(ok("ls")).contains(id + "\t" + name + "\trunning\t").contains(other);
        assertThat(ok("exec", name, "--", "printenv", "GREETING")).isEqualTo("hallo\n");
        String endsAt = made.path("endsAt").asString();
        assertThat(json("extend", "--json", id, "30m").path("endsAt").asString())
                .isGreaterThan(endsAt);

        assertThat(ok("rm", name, other)).isEqualTo(id + "\n" + other + "\n");
        assertThat(ok("ls")).doesNotContain(id, other);
        assertThat(ok("ls", "-a", "--label", "of=" + name)).contains(id).contains("ended");
        refused(caisson("show", name), name);
        refused(caisson("exec", id, "--", "true"), "ended");
    }

    @Test
    void aSandboxIsPausedResumedAndForked() {
        String id = create();
        ok("exec", id, "--", "sh", "-c", "echo kept > f; sleep 60 & echo $! > /tmp/pid");

        assertThat(ok("pause", id)).isEqualTo("paused\n");
        assertThat(items("ls", "--json", "--state", "paused")).anyMatch(at -> id(at).equals(id));
        refused(caisson("exec", id, "--", "true"), "Resume");
        assertThat(ok("resume", id)).isEqualTo("running\n");
        assertThat(json("pause", "--disk", "--json", id).path("pauseMode").asString())
                .isEqualTo("disk");
        ok("resume", id);
        assertThat(ok("exec", id, "--", "sh", "-c", "cat f; ls /tmp")).isEqualTo("kept\n");

        List<String> copies = ok("fork", id, "--count", "2", "--label", "a=b").lines().toList();
        assertThat(copies).hasSize(2).doesNotContain(id);
        ok("exec", copies.getFirst(), "--", "sh", "-c", "echo changed > f");
        assertThat(ok("exec", copies.getLast(), "--", "cat", "f")).isEqualTo("kept\n");
        assertThat(items("fork", "--json", id)).hasSize(1);
    }

    @Test
    void aSnapshotIsMadeUsedAndRemoved() {
        String id = create();
        ok("exec", id, "--", "sh", "-c", "echo saved > f");
        String name = name();

        String snapshot = ok("snapshot", "create", id, "--name", name).strip();
        ok("rm", id);

        assertThat(items("snapshot", "ls", "--json"))
                .anyMatch(one ->
                        id(one).equals(snapshot) && one.path("name").asString().equals(name));
        assertThat(ok("snapshot", "ls")).contains(snapshot + "\t" + name + "\t" + id);
        String of = create("--snapshot", name);
        assertThat(ok("exec", of, "--", "cat", "f")).isEqualTo("saved\n");
        assertThat(ok("snapshot", "rm", name)).isEqualTo(name + "\n");
        refused(caisson("create", "--snapshot", name), name);
    }

    // ---- commands

    @ParameterizedTest
    @CsvSource({
        "exit 0, 0",
        "exit 3, 3",
        "exit 200, 200",
        "kill -9 $$, 137",
        "kill -15 $$, 143",
    })
    void exitsAsTheProgramDid(String line, int status) {
        String id = create();

        Ended ended = caisson("exec", id, "--", "sh", "-c", "echo out; echo err >&2; " + line);

        assertThat(ended).isEqualTo(new Ended(status, "out\n", "err\n"));
    }

    @Test
    void saysWhyAProgramDidNotRunToItsEnd() {
        String id = create();

        Ended late = caisson("exec", "--timeout", "300ms", id, "--", "sleep", "30");
        Ended missing = caisson("exec", id, "--", "no-such-program");
        Ended plain = caisson("exec", id, "--", "/etc/hostname");

        assertThat(late.status()).as(late::toString).isEqualTo(124);
        assertThat(missing.status()).as(missing::toString).isEqualTo(127);
        assertThat(missing.err()).contains("no-such-program").hasLineCount(1);
        assertThat(plain.status()).as(plain::toString).isEqualTo(126);
        assertThat(plain.err()).contains("/etc/hostname").hasLineCount(1);
    }

    @Test
    void inputGoesInAndOptionsAreTheProgramsOwn() {
        String id = create();

        assertThat(ok(feed("a\nb\n", "exec", "-i", id, "--", "wc", "-l"))).isEqualTo("2\n");
        // Control: without -i nothing goes in.
        assertThat(ok(feed("a\nb\n", "exec", id, "--", "wc", "-l"))).isEqualTo("0\n");
        assertThat(ok("exec", id, "echo", "-n", "--json", "--help")).isEqualTo("--json --help");
        assertThat(ok("exec", "--workdir", "/tmp", "--env", "A=b c", id, "sh", "-c", "pwd;echo $A"))
                .isEqualTo("/tmp\nb c\n");
    }

    @Test
    void whatRunsIsListedAndItsOutputKept() {
        String id = create();
        ok("exec", id, "--", "echo", "done\tbefore");

        String exec = ok("exec", "-d", id, "--", "sh", "-c", "echo begun; exec sleep 60").strip();

        assertThat(exec).startsWith("ex");
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() ->
                        assertThat(ok("logs", id)).contains("done\tbefore\n").contains("begun\n"));
        assertThat(ok("ps", id)).hasLineCount(1).contains(exec + "\trunning\t");
        assertThat(items("ps", "-a", "--json", id)).hasSize(2);
        assertThat(ok("ps", "-a", id)).contains("echo done\\tbefore");
        assertThat(ok("logs", "--json", id).lines())
                .allSatisfy(line -> assertThat(Json.LENIENT.readTree(line).has("type")).isTrue())
                .anyMatch(line -> line.contains("begun"));
        JsonNode top = items("top", "--once", "--json", id).getFirst();
        assertThat(top.path("sandbox").asString()).isEqualTo(id);
        assertThat(top.path("pids").asLong()).isPositive();
        assertThat(ok("top", "--once")).contains(id + "\t");
    }

    // ---- files

    @Test
    void filesAndFoldersAreCopiedInAndOut(@TempDir Path folder) throws IOException {
        String id = create();
        Path up = Files.createDirectories(folder.resolve("up/sub"));
        Path program = Files.writeString(up.resolve("run"), "#!/bin/sh\necho ran\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.createSymbolicLink(up.resolve("link"), Path.of("/etc/passwd"));

        ok("cp", folder.resolve("up").toString(), id + ":/work/");
        ok(feed("42\n", "cp", "-", id + ":answer"));

        assertThat(ok("exec", id, "--", "up/sub/run")).isEqualTo("ran\n");
        assertThat(ok("exec", id, "--", "ls", "up/sub")).isEqualTo("run\n");
        assertThat(ok("cp", id + ":answer", "-")).isEqualTo("42\n");
        ok("exec", id, "--", "sh", "-c", "cd up/sub; chmod u+s run; ln -s /etc/shadow s; echo n>n");
        Path down = folder.resolve("down");
        Ended out = caisson("cp", id + ":up", down.toString());
        ok(out);
        assertThat(out.err()).contains("sub/s");
        assertThat(down.resolve("sub/n")).hasContent("n");
        assertThat(down.resolve("sub/s")).doesNotExist();
        assertThat(Files.getAttribute(down.resolve("sub/run"), "unix:mode"))
                .satisfies(mode -> assertThat((int) mode & 06000).isZero());
        ok("cp", id + ":/work/answer", folder.toString());
        assertThat(folder.resolve("answer")).hasContent("42");

        refused(caisson("cp", folder.resolve("none").toString(), id + ":x"), "none");
        refused(caisson("cp", id + ":none", folder.resolve("x").toString()), "none");
        assertThat(folder.resolve("x")).doesNotExist();
        refused(caisson("cp", "here", "there"), "ID:PATH");
    }

    @Test
    void filesAreListedShownAndRemoved() {
        String id = create();
        ok("exec", id, "--", "sh", "-c", "mkdir d; echo text > d/f; touch \"$(printf 'a\\nb')\"");

        assertThat(items("files", "ls", "-r", "--json", id, "/work"))
                .extracting(file -> file.path("path").asString())
                .contains("/work/d/f");
        assertThat(ok("files", "ls", id, "/work").lines()).hasSize(2); // a name is one line
        assertThat(ok("files", "cat", id, "d/f")).isEqualTo("text\n");
        ok("files", "rm", "-r", id, "/work/d");
        refused(caisson("files", "cat", id, "d/f"), "d/f");
    }

    // ---- refusals

    @Test
    void refusalsSayWhatToDo() throws IOException {
        refused(CommandLines.run(Map.of("HOME", "/nowhere"), "", "ls"), "CAISSON_URL", "login");
        refused(
                CommandLines.run(Map.of("CAISSON_URL", service.url().toString()), "", "ls"),
                "CAISSON_API_KEY");
        refused(CommandLines.run(env("caisson_" + "0".repeat(40)), "", "ls"), "key");
        String nowhere = "http://127.0.0.1:" + LiveService.freePort();
        refused(
                CommandLines.run(
                        Map.of("CAISSON_URL", nowhere, "CAISSON_API_KEY", "caisson_1"), "", "ls"),
                nowhere.substring("http://".length()));
        refused(caisson("show", "sbnothing"), "sbnothing");
        refused(caisson("ls", "--lable", "a=b"), "--label");
        refused(caisson("crate"), "create");
        refused(caisson("create", "--memory", "much"), "--memory", "much");
        refused(caisson("create", "--memory", "1k"), "memory");
        refused(caisson("create", "--tier", "microvm"), "tier");
        refused(caisson("create", "--root"), "root");
        refused(caisson("exec", "sbnothing"), "COMMAND");

        JsonNode error = refusedAsJson(caisson("show", "--json", "sbnothing"), "not_found");
        assertThat(error.path("requestId").asString()).isNotBlank();
        refusedAsJson(caisson("create", "--json", "--memory", "much"), "invalid");
    }
}
