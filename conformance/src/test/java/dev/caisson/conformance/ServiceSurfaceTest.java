package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * What a sandbox can do to the server that it belongs to: nothing by its ports, little by asking.
 */
@Isolated("starts launchers and servers of its own")
@Timeout(90)
class ServiceSurfaceTest extends ServiceFixture {
    private static final int SIZES = 20_000;

    /** The error number of a connection to a port of this machine; 0: it was made. */
    private static String connect(int port) {
        return "import socket; print(socket.socket().connect_ex(('127.0.0.1', " + port + ")))";
    }

    private static String unix(Path socket) {
        return "import socket; print(socket.socket(socket.AF_UNIX).connect_ex('" + socket + "'))";
    }

    @Test
    @DisplayName("C17 neither the API nor the launcher can be reached from inside")
    void theServiceCannotBeReachedFromInside() throws Exception {
        Lab.needs("python3");
        String id = api.sandbox(Map.of());
        for (String line : new String[] {connect(service.port()), unix(service.socket())}) {
            String told = api.out(id, "python3 -c \"" + line + "\"");
            assertThat(told.strip()).as(line).matches("[1-9][0-9]*");
            // The control: from outside both take a connection.
            assertThat(Lab.outside("/usr/bin/python3", "-c", line).text().strip())
                    .as(line)
                    .isEqualTo("0");
        }
        api.delete("/v1/sandboxes/" + id).ok();
    }

    @Test
    @DisplayName("O10 a flood of sizes holds neither a terminal nor the server up")
    void aFloodOfSizesHoldsNobodyUp() throws Exception {
        String id = api.sandbox(Map.of());
        String exec =
                id(
                        start(
                                id,
                                Map.of(
                                        "argv",
                                        java.util.List.of("cat"),
                                        "pty",
                                        Map.of("rows", 24, "cols", 80))));
        try (LiveSocket socket = LiveSocket.open(api, "/v1/execs/" + exec + "/terminal")) {
            for (int i = 0; i < SIZES; i++) {
                socket.text("{\"resize\":{\"rows\":%d,\"cols\":%d}}".formatted(1 + i % 200, 80));
            }
            socket.send("still there\n");
            socket.await("still there");
        }
        // Others are served as before, and what is out of bounds is refused.
        await().atMost(Duration.ofSeconds(5))
                .until(() -> api.out(id, "echo fine").equals("fine\n"));
        assertThat(
                        api.post("/v1/execs/" + exec + "/resize", Map.of("rows", 0, "cols", 80))
                                .status())
                .isEqualTo(400);
        assertThat(api.post("/v1/execs/" + exec + "/resize", Map.of("rows", 9, "cols", 9)).status())
                .isLessThan(300);
        api.delete("/v1/sandboxes/" + id).ok();
    }
}
