package dev.caisson.server;

import static dev.caisson.server.TestServer.error;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.Caller;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Who gets in, and as whom. */
class GateTest {
    private static final TestServer SERVER = new TestServer();

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static HttpRequest.Builder with(String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(SERVER.uri("/v1/sandboxes/box"));
        return headers.length == 0 ? request : request.headers(headers);
    }

    @Test
    void takesEveryWrittenFormOfAKey() throws Exception {
        String hex = "a".repeat(40);
        for (String[] headers :
                List.of(
                        new String[] {"Authorization", "Bearer caisson_" + hex},
                        new String[] {"Authorization", "bearer e2b_" + hex},
                        new String[] {"Authorization", "Bearer " + hex},
                        new String[] {"X-API-KEY", "e2b_" + hex},
                        new String[] {"Authorization", "Bearer oidc.good.token"})) {
            assertThat(SERVER.send(with(headers)).statusCode()).as(headers[1]).isEqualTo(200);
        }
    }

    @Test
    void refusesAllElseAlike() throws Exception {
        String hex = "d".repeat(40);
        String first = null;
        for (String[] headers :
                List.of(
                        new String[] {},
                        new String[] {"Authorization", "Bearer caisson_" + hex},
                        new String[] {"Authorization", "Bearer"},
                        new String[] {"Authorization", "Basic YTpi"},
                        new String[] {"Authorization", "Bearer wrong.oidc.token"},
                        new String[] {"X-API-KEY", "oidc.good.token"},
                        new String[] {
                            "X-API-KEY",
                            FakeControl.KEY,
                            "Authorization",
                            "Bearer " + FakeControl.KEY
                        })) {
            HttpResponse<String> refused = SERVER.send(with(headers));
            assertThat(refused.statusCode()).isEqualTo(401);
            assertThat(refused.headers().firstValue("WWW-Authenticate")).isPresent();
            String body = refused.body().replaceAll("rq[a-z0-9]{20}", "");
            first = first == null ? body : first;
            assertThat(body).isEqualTo(first);
        }
    }

    @Test
    void opensOnlyHealthWithoutAKey() throws Exception {
        for (String path : List.of("/healthz", "/readyz")) {
            HttpResponse<String> open = SERVER.send(HttpRequest.newBuilder(SERVER.uri(path)));
            assertThat(open.statusCode()).isEqualTo(200);
            assertThat(open.body()).isEqualTo("ok\n");
        }
        for (String line :
                List.of("DELETE /healthz", "POST /x", "PATCH /v1/info", "FOO /v1/info")) {
            String answer =
                    SERVER.raw(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assertThat(answer).as(line).startsWith("HTTP/1.1 401");
        }
    }

    @Test
    void saysNoMoreThanThatItIsNotReady() throws Exception {
        try (TestServer server = new TestServer()) {
            server.control.unready = "the store is away";
            HttpResponse<String> response = server.get("/readyz");
            assertThat(response.statusCode()).isEqualTo(503);
            assertThat(response.body()).isEqualTo("no\n");
        }
    }

    @Test
    void actsForATenantAndCarriesWhatIsClaimed() throws Exception {
        String trace = "0af7651916cd43dd8448eb211c80319c";
        SERVER.send(
                SERVER.request("/v1/sandboxes/acting")
                        .header("Caisson-Tenant", "other")
                        .header("Caisson-Agent", "robot")
                        .header("Caisson-Task", "42")
                        .header("traceparent", "00-" + trace + "-b7ad6b7169203331-01"));
        Caller caller =
                SERVER.control.calls("SandboxService", "find").stream()
                        .filter(call -> "acting".equals(call.arguments().get(1)))
                        .findFirst()
                        .orElseThrow()
                        .caller();
        assertThat(caller.tenant()).isEqualTo("other");
        assertThat(caller.actingFor()).isTrue();
        assertThat(caller.claimed()).isEqualTo(Map.of("agent", "robot", "task", "42"));
        assertThat(caller.traceId()).isEqualTo(trace);
        Caller asked = SERVER.control.calls("Control", "actFor").getFirst().caller();
        assertThat(asked.claimed()).containsEntry("agent", "robot");
    }

    @Test
    void asksForTheScopeOfTheRoute() throws Exception {
        HttpRequest.Builder write =
                HttpRequest.newBuilder(SERVER.uri("/v1/sandboxes/reader"))
                        .header("X-API-KEY", FakeControl.READER_KEY)
                        .DELETE();
        HttpResponse<String> refused = SERVER.send(write);
        assertThat(refused.statusCode()).isEqualTo(403);
        assertThat(error(refused).path("code").asString()).isEqualTo("policy_denied");
        assertThat(SERVER.control.calls("SandboxService", "delete"))
                .noneMatch(call -> "reader".equals(call.arguments().get(1)));
    }
}
