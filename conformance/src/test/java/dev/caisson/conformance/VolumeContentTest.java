package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** What is in volumes, without a sandbox of one's own. */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
class VolumeContentTest extends ServiceFixture {
    private static final String TEXT = "0123456789";

    private static String volume() {
        return id(api.post("/v1/volumes", Map.of("name", name(), "diskBytes", 32 << 20)).ok(201));
    }

    private static Map<String, Object> mounting(String volume, boolean readOnly) {
        return Map.of(
                "volumes",
                List.of(Map.of("volume", volume, "path", "/data", "readOnly", readOnly)));
    }

    private static String files(String volume, String more) {
        return "/v1/volumes/" + volume + "/files" + more;
    }

    private static Api.Answer put(String volume, String path, String content) {
        return api.send(
                "PUT", files(volume, "?path=" + path), content.getBytes(StandardCharsets.UTF_8));
    }

    private static List<String> paths(String volume, String query) {
        return api.get(files(volume, "/list?" + query))
                .ok()
                .path("items")
                .valueStream()
                .map(file -> file.path("path").asString())
                .toList();
    }

    @Test
    void contentGoesInAndOutAndIsWhatSandboxesSee() {
        String volume = volume();
        JsonNode written = put(volume, "/a/b.txt", TEXT).ok(200);
        assertThat(written.path("path").asString()).isEqualTo("/a/b.txt");
        assertThat(written.path("size").asLong()).isEqualTo(10);
        assertThat(api.get(files(volume, "?path=a/b.txt")).okText()).isEqualTo(TEXT);
        Api.Answer part = api.with("Range", "bytes=3-5").get(files(volume, "?path=/a/b.txt"));
        assertThat(part.status()).isEqualTo(206);
        assertThat(part.text()).isEqualTo("345");
        assertThat(part.headers().firstValue("Content-Range")).hasValue("bytes 3-5/10");
        api.post(files(volume, "/mkdir?path=/empty"), Map.of()).ok();
        api.post(files(volume, "/move"), Map.of("from", "/a/b.txt", "to", "/c.txt")).ok();
        assertThat(paths(volume, "path=/")).containsExactly("/a", "/c.txt", "/empty");
        assertThat(paths(volume, "path=/&recursive=true")).contains("/c.txt");
        Api.Answer tar = api.get(files(volume, "/archive?path=/"));
        assertThat(tar.status()).isEqualTo(200);
        assertThat(api.send("POST", files(volume, "/archive?path=/copy"), tar.body()).status())
                .isEqualTo(200);
        assertThat(api.get(files(volume, "?path=/copy/c.txt")).okText()).isEqualTo(TEXT);
        assertThat(api.delete(files(volume, "?path=/copy&recursive=true")).status()).isEqualTo(204);
        assertThat(api.get(files(volume, "/stat?path=/copy")).status()).isEqualTo(404);

        // A sandbox sees the same, as its own user, and what it does is seen here.
        String sandbox = api.sandbox(mounting(volume, false));
        assertThat(api.out(sandbox, "cat /data/c.txt; echo more >> /data/c.txt")).isEqualTo(TEXT);
        api.delete("/v1/sandboxes/" + sandbox).ok();
        assertThat(api.get(files(volume, "?path=/c.txt")).okText()).isEqualTo(TEXT + "more\n");
        // The control: another volume has none of it.
        assertThat(paths(volume(), "path=/")).isEmpty();
    }

    @Test
    void eventsSayWhoAndNothingIsLeft() {
        String volume = volume();
        put(volume, "/f", TEXT).ok();
        List<JsonNode> events =
                api.events().stream()
                        .filter(event ->
                                volume.equals(event.path("data").path("volume").asString(""))
                                        || volume.equals(
                                                event.path("data")
                                                        .path("labels")
                                                        .path("caisson/volume")
                                                        .asString("")))
                        .toList();
        assertThat(events)
                .extracting(event -> event.path("type").asString())
                .containsExactly("volume.created", "sandbox.created", "volume.written");
        String key = service.adminKey().substring("caisson_".length(), "caisson_".length() + 8);
        assertThat(events)
                .allMatch(event -> event.path("actor").path("keyId").asString().equals(key));
        String sandbox = events.get(1).path("sandbox").asString();
        assertThat(state(sandbox)).isEqualTo("ended");
        assertThat(HostView.cgroups(sandbox)).isEmpty();
        assertThat(api.get("/v1/volumes/" + volume).ok().path("sandboxes")).isEmpty();
    }

    @Test
    void whoeverHasTheVolumeGoesFirst() {
        String volume = volume();
        put(volume, "/f", TEXT).ok();
        String reader = api.sandbox(mounting(volume, true));
        assertThat(api.get(files(volume, "?path=/f")).okText()).isEqualTo(TEXT);
        assertThat(put(volume, "/f", "other").code()).isEqualTo("invalid_state");
        api.delete("/v1/sandboxes/" + reader).ok();
        String writer = api.sandbox(mounting(volume, false));
        Api.Answer refused = api.get(files(volume, "?path=/f"));
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.code()).isEqualTo("invalid_state");
        assertThat(refused.json().path("error").path("details").path("sandbox").asString())
                .isEqualTo(writer);
        api.delete("/v1/sandboxes/" + writer).ok();
        assertThat(api.get(files(volume, "?path=/f")).okText()).isEqualTo(TEXT);
    }

    @Test
    void requestsTakeTurns() throws Exception {
        String volume = volume();
        try (ExecutorService many = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Integer>> asked = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                String path = "/f" + i;
                asked.add(() -> put(volume, path, TEXT).status());
                asked.add(() -> api.get(files(volume, "/list?path=/")).status());
            }
            for (Future<Integer> one : many.invokeAll(asked)) {
                assertThat(one.get()).isEqualTo(200);
            }
        }
        assertThat(paths(volume, "path=/")).hasSize(6);
    }

    @Test
    void itsLimitIsToldAndHostileLinksLeadNowhere() {
        String volume = volume();
        Api.Answer full = put(volume, "/big", "x".repeat(40 << 20));
        assertThat(full.code()).as(full::toString).isEqualTo("limit_reached");
        String sandbox = api.sandbox(mounting(volume, false));
        api.sh(sandbox, "ln -s /etc/passwd /data/link; ln -s / /data/root; echo x > /data/plain");
        api.delete("/v1/sandboxes/" + sandbox).ok();
        assertThat(api.get(files(volume, "?path=/link")).code()).isEqualTo("not_regular");
        assertThat(api.get(files(volume, "?path=/root/etc/passwd")).status()).isEqualTo(409);
        assertThat(put(volume, "/root/tmp/x", "y").status()).isEqualTo(409);
        assertThat(put(volume, "/../x", "y").status()).isEqualTo(400);
        // The control.
        assertThat(api.get(files(volume, "?path=/plain")).okText()).isEqualTo("x\n");
    }

    @Test
    void whatWasWrittenIsInTheImageAndAServerThatDiesLeavesNoSandbox() throws Exception {
        String volume = volume();
        String canary = "canary-" + "of-a-volume";
        put(volume, "/f", canary).ok();
        Path image = service.state().resolve("volumes/" + volume + ".img");
        String disk = new String(Files.readAllBytes(image), StandardCharsets.ISO_8859_1);
        assertThat(disk).contains(canary).doesNotContain(canary + "?");
        Thread upload =
                Thread.ofVirtual()
                        .start(() -> {
                            try {
                                put(volume, "/g", "x".repeat(30 << 20));
                            } catch (Api.Unanswered e) {
                                // As it should be.
                            }
                        });
        LiveService.pause(150);
        service.killServer();
        upload.join();
        service.startServer();
        assertThat(api.get(files(volume, "?path=/f")).okText()).isEqualTo(canary);
        assertThat(api.get("/v1/volumes/" + volume).ok().path("sandboxes")).isEmpty();
    }
}
