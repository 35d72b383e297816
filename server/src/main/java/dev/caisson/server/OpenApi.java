package dev.caisson.server;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The OpenAPI 3.1 document of the table of routes, and the page that shows it. */
final class OpenApi {
    /**
     * Statuses of failures that a client may meet. 500 is none of them: it is a defect, and a test
     * that compares answers with this document tells of it.
     */
    private static final SortedSet<Integer> FAILURES =
            Arrays.stream(ErrorCode.values())
                    .map(ErrorCode::httpStatus)
                    .filter(status -> status > 500)
                    .collect(Collectors.toCollection(TreeSet::new));

    private static final Pattern PARAMETER = Pattern.compile("\\{([a-z]+)(?:\\.\\.\\.)?}");

    private final List<Route> all;
    private final Schemas schemas;
    private @Nullable Texts texts; // guarded by this

    OpenApi(List<Route> others) {
        this.all = new ArrayList<>(others);
        this.all.addAll(routes());
        this.schemas = new Schemas(words(), requests(all));
    }

    private record Texts(String document, String page) {}

    /** A seventh of a second the first time, so not before anybody asks. */
    private synchronized Texts texts() {
        Texts known = texts;
        if (known == null) {
            known = new Texts(Json.write(build()), DocsPage.of(all));
            texts = known;
        }
        return known;
    }

    /** Its own routes. */
    List<Route> routes() {
        return List.of(
                Route.get("/v1/openapi.json")
                        .givesText("application/json")
                        .doc("This document.")
                        .does(x ->
                                new Answer.Text(
                                        200, "application/json", texts().document(), Map.of())),
                Route.get("/docs")
                        .givesText("text/html")
                        .doc("This document, as a page without scripts.")
                        .does(x ->
                                new Answer.Text(
                                        200,
                                        "text/html; charset=utf-8",
                                        texts().page(),
                                        Map.of("Content-Security-Policy", DocsPage.CSP))));
    }

    private static Properties words() {
        Properties words = new Properties();
        try (InputStream source = OpenApi.class.getResourceAsStream("words.properties")) {
            if (source != null) {
                words.load(source);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return words;
    }

    /** All forms that can be in a request. */
    private static Set<Class<?>> requests(List<Route> routes) {
        Set<Class<?>> found = new HashSet<>();
        for (Route route : routes) {
            if (route.body != null) {
                collect(route.body, found);
            }
        }
        return found;
    }

    private static void collect(Type type, Set<Class<?>> found) {
        if (type instanceof java.lang.reflect.ParameterizedType generic) {
            for (Type argument : generic.getActualTypeArguments()) {
                collect(argument, found);
            }
        } else if (type instanceof Class<?> raw && raw.isRecord() && found.add(raw)) {
            for (RecordComponent part : raw.getRecordComponents()) {
                collect(part.getGenericType(), found);
            }
        }
    }

    private Map<String, Object> build() {
        Map<String, Map<String, Object>> paths = new TreeMap<>();
        for (Route route : all) {
            paths.computeIfAbsent(route.path.replace("...}", "}"), path -> new LinkedHashMap<>())
                    .put(route.method.toLowerCase(Locale.ROOT), operation(route));
        }
        schemas.of(Forms.ErrorBody.class);
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("openapi", "3.1.0");
        document.put(
                "info",
                Map.of(
                        "title",
                        "Caisson",
                        "version",
                        "1",
                        "description",
                        "Sandboxes for code that models write. Every error is an ErrorBody."));
        document.put("paths", paths);
        document.put(
                "components",
                Map.of("schemas", schemas.all(), "securitySchemes", securitySchemes()));
        document.put("security", List.of(Map.of("bearer", List.of()), Map.of("key", List.of())));
        return document;
    }

    private static Map<String, Object> securitySchemes() {
        return Map.of(
                "bearer",
                Map.of("type", "http", "scheme", "bearer"),
                "key",
                Map.of("type", "apiKey", "in", "header", "name", "X-API-KEY"));
    }

    private Map<String, Object> operation(Route route) {
        Map<String, Object> operation = new LinkedHashMap<>();
        operation.put("operationId", operationId(route));
        operation.put("summary", route.doc);
        operation.put("x-caisson-scope", route.scope);
        if (route.scope.equals(Route.OPEN)) {
            operation.put("security", List.of());
        }
        List<Object> parameters = parameters(route);
        if (!parameters.isEmpty()) {
            operation.put("parameters", parameters);
        }
        Map<String, Object> body = requestBody(route);
        if (body != null) {
            operation.put("requestBody", body);
        }
        operation.put("responses", responses(route));
        return operation;
    }

    static String operationId(Route route) {
        StringBuilder id = new StringBuilder(route.method.toLowerCase(Locale.ROOT));
        for (String part : route.path.split("[^a-z0-9]+", -1)) {
            if (!part.isEmpty() && !part.equals("v1")) {
                id.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
            }
        }
        return id.toString();
    }

    private static List<Object> parameters(Route route) {
        List<Object> parameters = new ArrayList<>();
        Matcher matcher = PARAMETER.matcher(route.path);
        while (matcher.find()) {
            parameters.add(parameter(matcher.group(1), "path", true, ""));
        }
        route.query.forEach(
                (name, meaning) -> parameters.add(parameter(name, "query", false, meaning)));
        if (route.creates) {
            parameters.add(
                    parameter(
                            "Idempotency-Key",
                            "header",
                            false,
                            "The same key and request give the same answer for 24 hours."));
        }
        return parameters;
    }

    private static Object parameter(String name, String in, boolean required, String meaning) {
        Map<String, Object> parameter = new LinkedHashMap<>();
        parameter.put("name", name);
        parameter.put("in", in);
        parameter.put("required", required);
        if (!meaning.isEmpty()) {
            parameter.put("description", meaning);
        }
        parameter.put("schema", Map.of("type", "string"));
        return parameter;
    }

    private @Nullable Map<String, Object> requestBody(Route route) {
        Map<String, Object> content = new LinkedHashMap<>();
        if (route.takes == Route.Kind.BYTES) {
            content.put("application/octet-stream", Map.of());
        } else if (route.body != null) {
            Map<String, Object> schema = Map.of("schema", schemas.of(route.body));
            content.put("application/json", schema);
            if (route.mergePatch) {
                content.put("application/merge-patch+json", schema);
            }
        } else {
            return null;
        }
        return Map.of("required", !route.bodyOptional, "content", content);
    }

    private Map<String, Object> responses(Route route) {
        Map<String, Object> responses = new LinkedHashMap<>();
        for (int status : route.statuses) {
            Map<String, Object> response = new LinkedHashMap<>();
            response.put("description", status < 400 ? "Done." : "Not now.");
            Map<String, Object> content = content(route);
            if (!content.isEmpty()) {
                response.put("content", content);
            }
            responses.put(Integer.toString(status), response);
        }
        responses.put("4XX", failure("Refused."));
        FAILURES.forEach(
                status -> responses.putIfAbsent(Integer.toString(status), failure("Failed.")));
        return responses;
    }

    private static Map<String, Object> failure(String description) {
        return Map.of(
                "description",
                description,
                "content",
                Map.of("application/json", Map.of("schema", Schemas.ref(Forms.ErrorBody.class))));
    }

    private Map<String, Object> content(Route route) {
        Map<String, Object> item =
                route.form == null ? Map.of() : Map.of("schema", schemas.of(route.form));
        return switch (route.gives) {
            case NONE, WEBSOCKET -> Map.of();
            case JSON -> Map.of("application/json", item);
            case PAGE -> Map.of("application/json", Map.of("schema", list(route, true)));
            case ITEMS -> Map.of("application/json", Map.of("schema", list(route, false)));
            case BYTES ->
                    Map.of(
                            route.mediaType == null ? "application/octet-stream" : route.mediaType,
                            Map.of());
            case STREAM -> Map.of("application/x-ndjson", item, "text/event-stream", item);
            case TEXT -> Map.of(route.mediaType == null ? "text/plain" : route.mediaType, Map.of());
        };
    }

    private Map<String, Object> list(Route route, boolean pages) {
        Map<String, Object> properties = new LinkedHashMap<>();
        Class<?> form = route.form == null ? String.class : route.form;
        properties.put("items", Map.of("type", "array", "items", schemas.of(form)));
        if (pages) {
            properties.put("nextCursor", Map.of("type", "string"));
        }
        return Map.of("type", "object", "properties", properties, "required", List.of("items"));
    }
}
