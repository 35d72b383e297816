package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/**
 * The machine loses power: the data folder is on an ext4 in a file, everything is stopped, the file
 * is copied without a sync, and another server starts from the copy. What ext4 has not yet handed
 * to its device is not in it.
 */
@Isolated("starts launchers and servers of its own, and mounts")
@Timeout(150)
class MachineCrashTest {
    private static final String NO_SYNC =
            """
            int fsync(int fd) { (void) fd; return 0; }
            int fdatasync(int fd) { (void) fd; return 0; }
            """;

    @TempDir Path folder;

    @Test
    @DisplayName("what was acknowledged as durable survives the machine; sandboxes are told lost")
    void whatWasAcknowledgedSurvivesTheMachine() throws Exception {
        assertThat(missingAfterCrash(null)).isEmpty();
    }

    @Test
    @DisplayName("the control: without fsync something that was acknowledged is missing")
    void withoutSyncSomethingIsMissing() throws Exception {
        Path source = folder.resolve("nosync.c");
        Path library = folder.resolve("nosync.so");
        Files.writeString(source, NO_SYNC);
        assumeTrue(
                run("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString()),
                "needs a C compiler");
        assertThat(missingAfterCrash(library)).isNotEmpty();
    }

    /** What was acknowledged and is not there, by id. */
    private Map<String, String> missingAfterCrash(@org.jspecify.annotations.Nullable Path preload)
            throws Exception {
        Lab.needsSandboxes();
        Path disk = folder.resolve("disk.img");
        Path copy = folder.resolve("copy.img");
        Path mounted = Files.createDirectories(folder.resolve("mounted"));
        assumeTrue(run("truncate", "--size=128M", disk.toString()));
        assumeTrue(run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", disk.toString()));
        // Long intervals: nothing is written back on the kernel's own account meanwhile.
        assumeTrue(
                run("mount", "-o", "loop,commit=600", disk.toString(), mounted.toString()),
                "needs to be allowed to mount");
        Map<String, String> told = new LinkedHashMap<>();
        String key;
        try (LiveService service = LiveService.prepared(mounted.resolve("data"))) {
            service.preload(preload);
            service.startLauncher();
            service.startServer();
            key = service.adminKey();
            // What the first start wrote is not the question, unless it was never synced.
            acknowledge(service.admin(), told);
            LiveService.signal("STOP", service.server());
            LiveService.signal("STOP", service.launcher());
            LiveService.pause(300); // a sync that was under way ends
            Files.copy(disk, copy);
            LiveService.signal("CONT", service.launcher());
        } finally {
            unmount(mounted);
        }
        return found(copy, key, told);
    }

    /** Something of everything that is durable before its answer. */
    private static void acknowledge(Api api, Map<String, String> told) {
        for (int i = 0; i < 8; i++) {
            String id = api.sandbox(Map.of("labels", Map.of("n", "v" + i)));
            told.put("/v1/sandboxes/" + id, "v" + i);
            JsonNode small = api.sh(id, "echo small-" + i);
            told.put("/v1/execs/" + small.path("id").asString(), "small-" + i);
            JsonNode large = api.sh(id, "seq 1 20000; echo large-" + i);
            told.put("/v1/execs/" + large.path("id").asString(), "large-" + i);
            if (i % 2 == 0) {
                api.delete("/v1/sandboxes/" + id).ok();
                told.put("/v1/sandboxes/" + id, "deleted");
            }
        }
        String run =
                api.post("/v1/runs", Map.of("command", "echo ran; echo file > out.txt"))
                        .ok(200)
                        .path("id")
                        .asString();
        told.put("/v1/runs/" + run, "ran");
        told.put("/v1/runs/" + run + "/files/out.txt", "file");
        String policy =
                api.put("/v1/policies/durable", Map.of("root", "denied"))
                        .ok()
                        .path("id")
                        .asString();
        told.put("/v1/policies/" + policy, "durable");
        String agent =
                api.post("/v1/keys", Map.of("role", "agent", "name", "durable-key"))
                        .ok(201)
                        .path("id")
                        .asString();
        told.put("/v1/keys/" + agent, "durable-key");
        Api.Answer once = api.with("Idempotency-Key", "machine").post("/v1/sandboxes", Map.of());
        told.put("idempotent", once.ok(201).path("id").asString());
    }

    private Map<String, String> found(Path copy, String key, Map<String, String> told)
            throws Exception {
        Path mounted = Files.createDirectories(folder.resolve("recovered"));
        assertThat(run("mount", "-o", "loop", copy.toString(), mounted.toString())).isTrue();
        Map<String, String> missing = new LinkedHashMap<>();
        try (LiveService service = LiveService.prepared(mounted.resolve("data"))) {
            service.startLauncher();
            if (!Files.exists(mounted.resolve("data/server.key"))) {
                return told; // nothing at all is there
            }
            service.startServer();
            Api api = service.api(key);
            if (api.get("/v1/info").status() != 200) {
                return told;
            }
            told.forEach((path, word) -> {
                Api.Answer answer =
                        path.startsWith("/")
                                ? api.get(path)
                                : api.with("Idempotency-Key", "machine")
                                        .post("/v1/sandboxes", Map.of());
                if (answer.status() >= 300
                        || !new String(answer.body(), StandardCharsets.UTF_8).contains(word)) {
                    missing.put(path, answer.toString());
                }
            });
            if (missing.isEmpty()) {
                assertAllAreOver(api, told);
                ServiceTest.assertNoHoles(api.events());
            }
        } finally {
            unmount(mounted);
        }
        return missing;
    }

    /** No sandbox lives in the new machine, and each says why. */
    private static void assertAllAreOver(Api api, Map<String, String> told) {
        told.forEach((path, word) -> {
            if (path.startsWith("/v1/sandboxes/")) {
                JsonNode sandbox = api.get(path).ok();
                assertThat(sandbox.path("state").asString())
                        .isEqualTo(word.equals("deleted") ? "ended" : "lost");
                assertThat(sandbox.path("reason").asString())
                        .isIn(
                                word.equals("deleted")
                                        ? List.of("deleted")
                                        : List.of("lost", "host_restarted"));
            }
        });
    }

    private static void unmount(Path target) throws InterruptedException {
        for (int tries = 0; !run("umount", target.toString()); tries++) {
            if (tries > 20) {
                run("umount", "--lazy", target.toString());
                return;
            }
            LiveService.pause(100);
        }
    }

    static boolean run(String... command) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start();
            return process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false; // there is no such program
        }
    }
}
