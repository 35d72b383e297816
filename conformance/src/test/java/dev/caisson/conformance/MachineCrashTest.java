package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/**
 * The machine loses power: the folders of server and launcher are on an ext4 in a file, everything
 * is stopped, the file is copied without a sync, and others start from the copy, in a machine of
 * another boot id. What ext4 has not yet handed to its device is not in it.
 */
@Isolated("starts launchers and servers of its own, and mounts")
@Timeout(240)
class MachineCrashTest {
    private static final String NO_SYNC =
            """
            int fsync(int fd) { (void) fd; return 0; }
            int fdatasync(int fd) { (void) fd; return 0; }
            """;

    private static final String OTHER_BOOT = "00000000-1111-4222-8333-444444444444";
    private static final Map<String, Object> SMALL =
            Map.of("limits", Map.of("diskBytes", 32 << 20, "memoryBytes", 128 << 20));

    @TempDir Path folder;

    /** Something that was told, and how it is looked for. */
    private record Told(String what, Look look, String word) {
        interface Look {
            String at(Api api);
        }

        static Told path(String path, String word) {
            return new Told(path, api -> api.get(path).okText(), word);
        }

        /** What is wrong; null: it is there. */
        @Nullable String missing(Api api) {
            try {
                String found = look.at(api);
                return found.contains(word) ? null : found;
            } catch (AssertionError | RuntimeException e) {
                return String.valueOf(e.getMessage());
            }
        }
    }

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

    /** What was acknowledged and is not there. */
    private Map<String, String> missingAfterCrash(@Nullable Path preload) throws Exception {
        Lab.needsSandboxes();
        Path disk = folder.resolve("disk.img");
        Path copy = folder.resolve("copy.img");
        Path mounted = Files.createDirectories(folder.resolve("mounted"));
        assumeTrue(run("truncate", "--size=2G", disk.toString()));
        assumeTrue(run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", disk.toString()));
        // Long intervals: nothing is written back on the kernel's own account meanwhile.
        assumeTrue(
                run("mount", "-o", "loop,commit=600", disk.toString(), mounted.toString()),
                "needs to be allowed to mount");
        List<Told> told = new ArrayList<>();
        String key;
        try (LiveService service = LiveService.prepared(mounted.resolve("data"))) {
            service.state(mounted.resolve("state"));
            service.preload(preload);
            service.startLauncher();
            service.startServer();
            key = service.adminKey();
            // What the first start wrote is not the question, unless it was never synced.
            lives(service.admin(), told);
            things(service.admin(), told);
            disks(service.admin(), told);
            runs(service.admin(), told);
            LiveService.signal("STOP", service.server());
            LiveService.signal("STOP", service.launcher());
            LiveService.pause(300); // a sync that was under way ends
            assumeTrue(run("cp", "--sparse=always", disk.toString(), copy.toString()));
            LiveService.signal("CONT", service.launcher());
        } finally {
            unmount(mounted);
        }
        return found(copy, key, told);
    }

    // ---- something of everything that is durable before its answer

    private static void lives(Api api, List<Told> told) {
        for (int i = 0; i < 8; i++) {
            boolean deleted = i % 2 == 0;
            String id = api.sandbox(Map.of("labels", Map.of("n", "v" + i)));
            told.add(Told.path("/v1/sandboxes/" + id, "v" + i));
            JsonNode small = api.sh(id, "echo small-" + i);
            told.add(Told.path("/v1/execs/" + small.path("id").asString(), "small-" + i));
            JsonNode large = api.sh(id, "seq 1 20000; echo large-" + i);
            told.add(Told.path("/v1/execs/" + large.path("id").asString(), "large-" + i));
            if (deleted) {
                api.delete("/v1/sandboxes/" + id).ok();
            }
            told.add(over(id, deleted ? "ended deleted" : "lost host_restarted"));
        }
        String frozen = api.sandbox(Map.of());
        api.post("/v1/sandboxes/" + frozen + "/pause", Map.of("memory", true)).ok();
        told.add(over(frozen, "lost host_restarted"));
    }

    private static Told over(String sandbox, String how) {
        return new Told(
                "the end of " + sandbox,
                api -> {
                    JsonNode found = api.get("/v1/sandboxes/" + sandbox).ok();
                    return found.path("state").asString() + " " + found.path("reason").asString("");
                },
                how);
    }

    private static void things(Api api, List<Told> told) {
        String policy =
                api.put("/v1/policies/durable", Map.of("root", "denied"))
                        .ok()
                        .path("id")
                        .asString();
        told.add(Told.path("/v1/policies/" + policy, "durable"));
        String agent =
                api.post("/v1/keys", Map.of("role", "agent", "name", "durable-key"))
                        .ok(201)
                        .path("id")
                        .asString();
        told.add(Told.path("/v1/keys/" + agent, "durable-key"));
        Api.Answer once = api.with("Idempotency-Key", "machine").post("/v1/sandboxes", Map.of());
        told.add(
                new Told(
                        "an answer for its key",
                        again ->
                                again.with("Idempotency-Key", "machine")
                                        .post("/v1/sandboxes", Map.of())
                                        .okText(),
                        once.ok(201).path("id").asString()));
    }

    /** A file of two megabytes that no two have, and its sum. */
    private static String fill(Api api, String sandbox, String path) {
        String sum =
                api.out(
                        sandbox,
                        "head -c 2000000 /dev/urandom > %s && sha256sum < %s"
                                .formatted(path, path));
        assertThat(sum).matches("[0-9a-f]{64}  -\n");
        return sum.substring(0, 64);
    }

    private static void disks(Api api, List<Told> told) {
        String saved = api.sandbox(SMALL);
        String inSnapshot = fill(api, saved, "/work/big");
        String snapshot =
                api.post("/v1/sandboxes/" + saved + "/snapshots", Map.of("name", "kept"))
                        .ok(201)
                        .path("id")
                        .asString();
        told.add(
                new Told(
                        "a snapshot",
                        later -> sum(later, Map.of("snapshot", snapshot), "/work/big"),
                        inSnapshot));

        String paused = api.sandbox(SMALL);
        String inPaused = fill(api, paused, "/work/big");
        api.post("/v1/sandboxes/" + paused + "/pause", Map.of("memory", false)).ok();
        told.add(
                new Told(
                        "a sandbox that is paused on its disk",
                        later -> {
                            JsonNode found = later.get("/v1/sandboxes/" + paused).ok();
                            assertThat(found.path("state").asString()).isEqualTo("paused");
                            later.post("/v1/sandboxes/" + paused + "/resume", Map.of()).ok();
                            return later.out(paused, "sha256sum < /work/big");
                        },
                        inPaused));

        String volume =
                api.post("/v1/volumes", Map.of("name", "kept", "diskBytes", 32 << 20))
                        .ok(201)
                        .path("id")
                        .asString();
        Map<String, Object> mount = Map.of("volumes", List.of(mount(volume)));
        String writer = api.sandbox(mount);
        String inVolume = fill(api, writer, "/data/big");
        // What a program has synced is on the disk, as on any other.
        api.sh(writer, "sync /data/big /data");
        told.add(new Told("a volume", later -> sum(later, mount, "/data/big"), inVolume));
    }

    private static Map<String, Object> mount(String volume) {
        return Map.of("volume", volume, "path", "/data", "readOnly", false);
    }

    /** Of a file in a sandbox that is made to look at it. */
    private static String sum(Api api, Map<String, Object> form, String path) {
        String id = api.sandbox(form);
        try {
            return api.out(id, "sha256sum < " + path);
        } finally {
            api.delete("/v1/sandboxes/" + id).ok();
        }
    }

    private static void runs(Api api, List<Told> told) {
        for (String mode : List.of("", "?mode=detach")) {
            String run =
                    api.post("/v1/runs" + mode, Map.of("command", "echo ran; echo file > out.txt"))
                            .ok(200, 202)
                            .path("id")
                            .asString();
            String path = "/v1/runs/" + run;
            assertThat(api.get(path + "?waitMillis=30000").ok().path("state").asString())
                    .isEqualTo("ended");
            told.add(Told.path(path, "ran\\n"));
            told.add(Told.path(path + "/files/out.txt", "file"));
        }
        String running =
                api.post("/v1/runs?mode=detach", Map.of("command", "sleep 100"))
                        .ok(202)
                        .path("id")
                        .asString();
        told.add(Told.path("/v1/runs/" + running, "\"state\":\"lost\""));
    }

    // ---- the next machine

    private Map<String, String> found(Path copy, String key, List<Told> told) throws Exception {
        Path mounted = Files.createDirectories(folder.resolve("recovered"));
        Path boot = folder.resolve("boot_id");
        Files.writeString(boot, OTHER_BOOT + "\n");
        assertThat(run("mount", "-o", "loop", copy.toString(), mounted.toString())).isTrue();
        Map<String, String> missing = new LinkedHashMap<>();
        try (LiveService service = LiveService.prepared(mounted.resolve("data"))) {
            service.state(mounted.resolve("state"));
            service.startThrough(
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"",
                    boot.toString());
            service.startLauncher();
            if (!Files.exists(mounted.resolve("data/server.key"))) {
                return Map.of("server.key", "nothing at all is there");
            }
            try {
                service.startServer();
            } catch (AssertionError e) {
                // Only what lies on the disk may keep it from starting.
                assertThat(e.getMessage())
                        .containsAnyOf("SQLITE", "database", "store", "server key");
                return Map.of("the store", String.valueOf(e.getMessage()));
            }
            Api api = service.api(key);
            Api.Answer info = api.get("/v1/info");
            if (info.status() != 200) {
                return Map.of("the first key", info.toString());
            }
            for (Told one : told) {
                String wrong = one.missing(api);
                if (wrong != null) {
                    missing.put(one.what(), wrong);
                }
            }
            if (missing.isEmpty()) {
                ServiceTest.assertNoHoles(api.events());
            }
        } finally {
            unmount(mounted);
        }
        return missing;
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
