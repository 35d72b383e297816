package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Clients and tenants that mean harm, and a disk that is full, against a live service. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
class HostileHttpTest {
    private static final int IDLE = 2000;
    private static final Duration SOON = Duration.ofSeconds(10);

    @TempDir Path folder;

    @Test
    @DisplayName("F26 an upload that breaks off, or lies about its length, leaves the old file")
    void brokenUploadsLeaveNoHalfFile() throws Exception {
        try (LiveService service = LiveService.start()) {
            Api api = service.admin();
            String id = api.sandbox(Map.of());
            String path = "/v1/sandboxes/" + id + "/files?path=f";
            api.send("PUT", path, "old".getBytes(StandardCharsets.UTF_8)).ok(200);
            for (String length : List.of("Content-Length: 9000000", "Transfer-Encoding: chunked")) {
                try (Socket socket = begin(service, "PUT", path, length)) {
                    OutputStream out = socket.getOutputStream();
                    if (length.startsWith("Transfer")) {
                        out.write("800000\r\n".getBytes(StandardCharsets.US_ASCII));
                    }
                    out.write(new byte[1 << 20]);
                    out.flush();
                    LiveService.pause(200);
                }
            }
            LiveService.pause(500);
            assertThat(api.out(id, "cat /work/f")).isEqualTo("old");
            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(api.out(id, "ls -A /work")).isEqualTo("f\n"));
            // Control: the same bytes in full are there.
            api.send("PUT", path, new byte[9_000_000]).ok(200);
            assertThat(api.out(id, "stat -c %s /work/f")).isEqualTo("9000000\n");
        }
    }

    private static Socket begin(LiveService service, String method, String path, String header)
            throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), service.port());
        String head =
                method
                        + " "
                        + path
                        + " HTTP/1.1\r\nHost: 127.0.0.1:"
                        + service.port()
                        + "\r\nAuthorization: Bearer "
                        + service.adminKey()
                        + "\r\nContent-Type: application/octet-stream\r\n"
                        + header
                        + "\r\n\r\n";
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    @Test
    @DisplayName("idle connections, slow heads and readers that do not read hold nobody up")
    void slowAndIdleClientsHoldNobodyUp() throws Exception {
        try (LiveService service = LiveService.start()) {
            Api api = service.admin();
            String id = api.sandbox(Map.of());
            List<Socket> held = new ArrayList<>();
            try {
                for (int i = 0; i < IDLE; i++) {
                    Socket socket = new Socket();
                    socket.connect(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), service.port()),
                            5000);
                    held.add(socket);
                    if (i % 2 == 0) {
                        socket.getOutputStream()
                                .write("GET /v1/inf".getBytes(StandardCharsets.US_ASCII));
                    }
                }
                for (int i = 0; i < 10; i++) {
                    held.add(deafReader(service, id));
                }
                for (int i = 0; i < 20; i++) {
                    long begun = System.nanoTime();
                    assertThat(api.out(id, "echo " + i)).isEqualTo(i + "\n");
                    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(SOON);
                }
                // They are cut by themselves: heads within 15 s, idle ones within 30 s.
                Socket slow = held.getFirst();
                slow.setSoTimeout(40_000);
                // A 408 or a plain end, but an end.
                while (slow.getInputStream().read() >= 0) {
                    // The rest of what it says.
                }
            } finally {
                for (Socket socket : held) {
                    socket.close();
                }
            }
        }
    }

    /** Asks for 60 MB of output and reads none of it. */
    private static Socket deafReader(LiveService service, String sandbox) throws IOException {
        byte[] body =
                "{\"command\":\"head -c 60000000 /dev/zero | tr '\\\\0' x\"}"
                        .getBytes(StandardCharsets.US_ASCII);
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), service.port()));
        String head =
                "POST /v1/sandboxes/"
                        + sandbox
                        + "/execs?mode=stream HTTP/1.1\r\nHost: 127.0.0.1:"
                        + service.port()
                        + "\r\nAuthorization: Bearer "
                        + service.adminKey()
                        + "\r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length
                        + "\r\n\r\n";
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().write(body);
        return socket;
    }

    private static void isRefused(Api api) {
        List<Api.Answer> refused = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            Api.Answer made = api.post("/v1/sandboxes", Map.of());
            if (made.status() == 201) {
                api.delete("/v1/sandboxes/" + made.json().path("id").asString());
            } else {
                refused.add(made);
            }
        }
        assertThat(refused).isNotEmpty();
        assertThat(refused)
                .allSatisfy(made -> {
                    assertThat(made.status()).as(made::toString).isEqualTo(507);
                    assertThat(made.code()).isEqualTo("host_disk_full");
                });
    }

    @Test
    @DisplayName("a full disk refuses with host_disk_full, keeps what it has, and goes on later")
    void aFullDiskLosesNothing() throws Exception {
        Path disk = Files.createDirectories(folder.resolve("disk"));
        Lab.needsSandboxes();
        assumeTrue(
                MachineCrashTest.run(
                        "mount", "-t", "tmpfs", "-o", "size=48m", "data", disk.toString()),
                "needs to be allowed to mount");
        try (LiveService service = LiveService.prepared(disk.resolve("data"))) {
            service.startLauncher();
            service.startServer();
            Api api = service.admin();
            String id = api.sandbox(Map.of());
            JsonNode before = api.sh(id, "seq 1 30000");
            String exec =
                    api.post(
                                    "/v1/sandboxes/" + id + "/execs?mode=detach",
                                    Map.of("command", "sleep 2; seq 1 60000"))
                            .ok(202)
                            .path("id")
                            .asString();
            LiveService.pause(300);
            Path ballast = disk.resolve("ballast");
            MachineCrashTest.run("dd", "if=/dev/zero", "of=" + ballast, "bs=4k");
            isRefused(api);
            // Reading goes on.
            assertThat(
                            api.get("/v1/execs/" + before.path("id").asString())
                                    .ok()
                                    .path("result")
                                    .path("stdout")
                                    .path("totalBytes")
                                    .asLong())
                    .isEqualTo(168_894);
            LiveService.pause(3000);
            assertThat(service.serverLog().length())
                    .as("lines of log while it is full")
                    .isLessThan(5500);
            Files.delete(ballast);
            JsonNode end = api.get("/v1/execs/" + exec + "?waitMillis=30000").ok();
            assertThat(end.path("state").asString()).as(end::toString).isEqualTo("ended");
            assertThat(end.path("result").path("stdout").path("totalBytes").asLong())
                    .isEqualTo(348_894);
            await().atMost(SOON).until(() -> api.post("/v1/sandboxes", Map.of()).status() == 201);
            ServiceTest.assertNoHoles(api.events());
            // What failed to start left nothing.
            assertThat(api.all("/v1/sandboxes?state=creating,ending")).isEmpty();
        } finally {
            for (int tries = 0;
                    tries < 50 && !MachineCrashTest.run("umount", disk.toString());
                    tries++) {
                LiveService.pause(100);
            }
        }
    }

    @Test
    @DisplayName("C14 bombs of one tenant do not stop another's commands")
    void bombsOfOneTenantDoNotStopAnothers() throws Exception {
        try (LiveService service = LiveService.start()) {
            Api home = service.admin();
            String hostile =
                    home.post("/v1/tenants", Map.of("name", "hostile"))
                            .ok(201)
                            .path("id")
                            .asString();
            Api bad =
                    service.api(
                            home.with("Caisson-Tenant", hostile)
                                    .post("/v1/keys", Map.of("role", "agent"))
                                    .ok(201)
                                    .path("key")
                                    .asString());
            String good = home.sandbox(Map.of());
            List<String> bombs =
                    List.of(
                            "for i in 1 2 3 4 5 6; do (while :; do sleep 0.01 & done) & done; wait",
                            "cat /dev/zero > /work/fill; cat /dev/zero > /work/fill2",
                            "yes hostile",
                            "while :; do :; done");
            List<String> execs = new ArrayList<>();
            for (String bomb : bombs) {
                String id =
                        bad.sandbox(Map.of("limits", Map.of("pids", 64, "diskBytes", 64 << 20)));
                execs.add(
                        bad.post(
                                        "/v1/sandboxes/" + id + "/execs?mode=detach",
                                        Map.of("command", bomb, "timeoutMillis", 10_000))
                                .ok(202)
                                .path("id")
                                .asString());
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(9);
            int done = 0;
            while (System.nanoTime() < end) {
                long begun = System.nanoTime();
                assertThat(home.out(good, "echo " + done)).isEqualTo(done + "\n");
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(SOON);
                done++;
            }
            assertThat(done).isGreaterThan(10);
            // Control: they were bombs, and met their limits.
            List<String> hit = new ArrayList<>();
            for (String exec : execs) {
                JsonNode told = bad.get("/v1/execs/" + exec + "?waitMillis=20000").ok();
                hit.add(
                        told.path("result").path("limitsHit")
                                + " "
                                + told.path("result").path("reason"));
            }
            assertThat(hit.get(0)).contains("pids");
            assertThat(hit.get(1)).contains("disk");
            assertThat(hit.get(2)).contains("output");
            assertThat(hit.get(3)).contains("time");
            assertThat(home.events())
                    .noneMatch(event -> event.path("tenant").asString().equals(hostile));
        }
    }
}
