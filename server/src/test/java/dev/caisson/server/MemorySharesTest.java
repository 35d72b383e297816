package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.core.Room;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class MemorySharesTest {
    private static final TestServer SERVER = new TestServer();
    private static final long ALL = Runtime.getRuntime().maxMemory() / 2;

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    @Test
    void noTenantsRequestsHoldMoreThanTheyLeave() throws Exception {
        HttpRequest.Builder other =
                HttpRequest.newBuilder(SERVER.uri("/v1/volumes"))
                        .header("Authorization", "Bearer " + FakeControl.OTHER_KEY);
        assertThat(SERVER.send(other).statusCode()).isEqualTo(200);
        SERVER.control.within = () -> Room.need(ALL * 6 / 10);
        HttpResponse<String> refused = SERVER.get("/v1/volumes");
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(TestServer.error(refused).path("message").asString()).contains("one tenant");
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        SERVER.control.within = () -> Room.need(ALL * 4 / 10);
        assertThat(SERVER.get("/v1/volumes").statusCode()).isEqualTo(200);
        assertThat(SERVER.get("/v1/volumes").statusCode()).isEqualTo(200);
    }
}
