package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.caisson.v1.Json;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The document says what the server does, and the server does what the document says. */
class OpenApiTest {
    private static final TestServer SERVER = new TestServer();

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    private static JsonNode document() throws Exception {
        return TestServer.tree(SERVER.get("/v1/openapi.json").body());
    }

    /** A path of the template, with ids that are ids. */
    private static String example(Route route, String exec) {
        return route.path
                .replace("{exec}", exec)
                .replace("{run}", "rn" + "0".repeat(20))
                .replace("{approval}", "ap" + "0".repeat(20))
                .replace("{webhook}", "wh" + "0".repeat(20))
                .replace("{key}", "0123abcd")
                .replace("{port}", "1")
                .replace("{template}", "sample")
                .replace("{path...}", "a/b")
                .replaceAll("\\{[a-z]+}", "sb" + "0".repeat(20));
    }

    @Test
    void describesEveryRouteAndNoOther() throws Exception {
        Set<String> described = new TreeSet<>();
        document()
                .path("paths")
                .properties()
                .forEach(path ->
                        path.getValue()
                                .propertyNames()
                                .forEach(method ->
                                        described.add(
                                                method.toUpperCase(Locale.ROOT)
                                                        + " "
                                                        + path.getKey())));
        Set<String> served = new TreeSet<>();
        SERVER.api.routes().forEach(route -> served.add(route.name().replace("...", "")));
        assertThat(described).isEqualTo(served).hasSizeGreaterThan(75);
    }

    @Test
    void namesOperationsOnce() throws Exception {
        List<String> ids = document().findValuesAsString("operationId");
        assertThat(ids).doesNotHaveDuplicates();
    }

    @Test
    void hasEveryRouteOfTheDocumentation() throws Exception {
        java.nio.file.Path page = java.nio.file.Path.of("..", "docs", "rest.md");
        String known =
                String.join("\n", SERVER.api.routes().stream().map(route -> route.path).toList());
        for (String line : java.nio.file.Files.readAllLines(page)) {
            java.util.regex.Matcher matcher =
                    java.util.regex.Pattern.compile("`(?:GET|POST|PUT|PATCH|DELETE) (/[^`?… ]*)")
                            .matcher(line);
            while (line.startsWith("| `") && matcher.find()) {
                String path = matcher.group(1).replaceAll("\\{[a-z]+}", "{}");
                assertThat(known.replaceAll("\\{[a-z.]+}", "{}").lines().toList())
                        .as(matcher.group(1))
                        .contains(path);
            }
        }
    }

    @Test
    void answersAsItsSchemasSay() throws Exception {
        JsonNode document = document();
        SERVER.control.files.contents.put("/work/a", FakeControl.bytes("content"));
        List<String> checked = new ArrayList<>();
        for (Route route : SERVER.api.routes()) {
            if (route.gives != Route.Kind.JSON
                    && route.gives != Route.Kind.PAGE
                    && route.gives != Route.Kind.ITEMS) {
                continue;
            }
            if (route.path.startsWith("/v1/links")) {
                continue;
            }
            HttpResponse<String> response = call(route);
            assertThat(response.statusCode())
                    .as(route.name() + " " + response.body())
                    .isIn(route.statuses);
            validate(document, route, response);
            checked.add(route.name());
        }
        assertThat(checked).hasSizeGreaterThan(55);
    }

    private static HttpResponse<String> call(Route route) throws Exception {
        String exec =
                SERVER.control
                        .execs
                        .start(
                                FakeControl.caller("alpha", dev.caisson.control.Role.ADMIN),
                                "sb" + "0".repeat(20),
                                dev.caisson.v1.ExecRequest.of(
                                        List.of(
                                                route.gives == Route.Kind.STREAM
                                                        ? "echo"
                                                        : "wait")))
                        .id();
        String path = example(route, exec);
        if (route.query.containsKey("path")) {
            path += "?path=/work/a";
        }
        HttpRequest.Builder request = SERVER.request(path);
        if (route.body != null) {
            TestServer.json(request, route.method, body(route));
        } else if (route.takes == Route.Kind.BYTES) {
            request.method(route.method, HttpRequest.BodyPublishers.ofString("bytes"));
        } else {
            request.method(route.method, HttpRequest.BodyPublishers.noBody());
        }
        return SERVER.send(request);
    }

    private static String body(Route route) {
        if (route.path.endsWith("/execs")) {
            return "{\"argv\":[\"echo\"]}";
        }
        if (route.path.endsWith("/move")) {
            SERVER.control.files.contents.put("/work/m", FakeControl.bytes("content"));
            return "{\"from\":\"/work/m\",\"to\":\"/work/n\"}";
        }
        if (route.path.endsWith("/links")) {
            return "{\"path\":\"/work/a\"}";
        }
        Object sample = Samples.of(java.util.Objects.requireNonNull(route.body));
        return Json.write(java.util.Objects.requireNonNull(sample));
    }

    private static void validate(JsonNode document, Route route, HttpResponse<String> response) {
        JsonNode operation =
                document.path("paths")
                        .path(route.path.replace("...", ""))
                        .path(route.method.toLowerCase(Locale.ROOT));
        JsonNode schema =
                operation
                        .path("responses")
                        .path(Integer.toString(response.statusCode()))
                        .path("content")
                        .path("application/json")
                        .path("schema");
        assertThat(schema.isObject()).as(route.name()).isTrue();
        ObjectNode whole = (ObjectNode) schema.deepCopy();
        whole.set("components", closed(document.path("components")));
        Schema compiled =
                SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                        .getSchema(whole.toString(), InputFormat.JSON);
        assertThat(compiled.validate(response.body(), InputFormat.JSON))
                .as(route.name() + " " + response.body())
                .isEmpty();
    }

    /** Fields that the document does not know are a defect here, though clients accept them. */
    private static JsonNode closed(JsonNode components) {
        ObjectNode copy = (ObjectNode) components.deepCopy();
        copy.path("schemas")
                .forEach(schema -> ((ObjectNode) schema).put("additionalProperties", false));
        return copy;
    }

    @Test
    void schemasRefuseWhatIsWrong() throws Exception {
        ObjectNode schema =
                (ObjectNode) document().path("components").path("schemas").path("FileJson");
        Schema compiled =
                SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                        .getSchema(schema.toString(), InputFormat.JSON);
        assertThat(compiled.validate("{\"path\":1}", InputFormat.JSON)).isNotEmpty();
    }

    @Test
    void showsAPageWithoutAnythingFromElsewhere() throws Exception {
        HttpResponse<String> page = SERVER.get("/docs");
        assertThat(page.body())
                .contains("POST /v1/sandboxes")
                .doesNotContain("<script", "http://", "https://");
        assertThat(page.headers().firstValue("Content-Security-Policy").orElse(""))
                .startsWith("default-src 'none'");
    }

    @Test
    void passesTheCallerToEveryPart() throws Exception {
        for (Route route : SERVER.api.routes()) {
            if (route.scope.contains(":") && route.gives != Route.Kind.WEBSOCKET) {
                call(route);
            }
        }
        assertThat(SERVER.control.calls)
                .hasSizeGreaterThan(60)
                .filteredOn(call -> !call.method().equals("dialPublic"))
                .allSatisfy(call ->
                        assertThat(call.caller().tenant()).as(call.method()).isEqualTo("alpha"));
    }
}
