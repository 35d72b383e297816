package dev.caisson.server;

import static dev.caisson.server.TestServer.error;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import java.net.http.HttpResponse;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretRoutesTest {
    private static final TestServer SERVER = new TestServer();
    private static final String CANARY = "canary-0123456789";
    private static final String SPEC =
            "\"spec\":{\"bindings\":[{\"host\":\"a.example.com\",\"slot\":{\"kind\":\"basic\"}}]}";

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static SecretRequest created() {
        return (SecretRequest)
                Objects.requireNonNull(
                        SERVER.control
                                .calls("SecretService", "create")
                                .getLast()
                                .arguments()
                                .get(1));
    }

    @Test
    void takesAValueAndAnswersWithoutOne() throws Exception {
        HttpResponse<String> made =
                SERVER.post(
                        "/v1/secrets",
                        "{\"name\":\"k\",\"source\":{\"value\":\"" + CANARY + "\"}," + SPEC + "}");

        assertThat(made.statusCode()).isEqualTo(201);
        assertThat(created().source().value()).isEqualTo(CANARY);
        assertThat(made.body()).doesNotContain(CANARY);
    }

    @Test
    void rotatesWithOrWithoutABody() throws Exception {
        assertThat(SERVER.post("/v1/secrets/k/rotate", "{}").statusCode()).isEqualTo(200);
        SERVER.post("/v1/secrets/k/rotate", "{\"source\":{\"value\":\"" + CANARY + "\"}}");

        SecretRotateRequest asked =
                (SecretRotateRequest)
                        Objects.requireNonNull(
                                SERVER.control
                                        .calls("SecretService", "rotate")
                                        .getLast()
                                        .arguments()
                                        .get(2));
        assertThat(Objects.requireNonNull(asked.source()).value()).isEqualTo(CANARY);
        assertThat(SERVER.post("/v1/secrets/k/test", "").statusCode()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"name\":\"k\",\"source\":{\"refreshMillis\":\"canary-0123456789\"}}",
                "{\"name\":\"k\",\"source\":\"canary-0123456789\"}",
                "{\"name\":\"k\",\"source\":{\"value\":canary-0123456789}}",
                "{\"name\":\"k\",\"source\":{\"value\":\"canary-0123456789\"}",
                "{\"name\":\"k\",\"source\":{\"value\":\"canary-0123456789\n\"}}",
                "{\"name\":\"k\",\"lifeMillis\":\"canary-0123456789\"}",
                "{\"canary-0123456789\":\"k\"}",
                "canary-0123456789",
            })
    void aMistakeIsToldWithoutTheText(String body) throws Exception {
        for (String path : new String[] {"/v1/secrets", "/v1/secrets/k/rotate"}) {
            HttpResponse<String> answer = SERVER.post(path, body);

            assertThat(answer.statusCode()).isEqualTo(400);
            assertThat(answer.body()).doesNotContain(CANARY);
            assertThat(error(answer).path("remedy").asString()).isNotBlank();
        }
        // The control: another route does tell what it cannot read.
        assertThat(SERVER.post("/v1/volumes", CANARY).body()).contains("canary");
    }

    @Test
    void theDocumentNamesNoValueInAnswers() throws Exception {
        String schema =
                TestServer.tree(SERVER.get("/v1/openapi.json").body())
                        .path("components")
                        .path("schemas")
                        .path("SecretJson")
                        .path("properties")
                        .toString();

        assertThat(schema).contains("\"from\"").doesNotContain("\"value\"", "\"sealed\"");
    }
}
