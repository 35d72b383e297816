package dev.caisson.conformance;

import dev.caisson.v1.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import tools.jackson.databind.JsonNode;

/** Plain HTTP to a service with one key: nothing is tried again, so what is told was told once. */
final class Api {
    private static final HttpClient CLIENT =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();
    private static final Duration LONGEST = Duration.ofSeconds(60);

    private final URI base;
    private final Map<String, String> headers;
    private final HttpClient client;

    Api(URI base, String key) {
        this(base, Map.of("Authorization", "Bearer " + key), CLIENT);
    }

    private Api(URI base, Map<String, String> headers, HttpClient client) {
        this.base = base;
        this.headers = headers;
        this.client = client;
    }

    /** The same through another client, which trusts whom it was told to. */
    Api through(HttpClient other) {
        return new Api(base, headers, other);
    }

    /** The same with one more header on each request. */
    Api with(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(headers);
        more.put(name, value);
        return new Api(base, more, client);
    }

    URI base() {
        return base;
    }

    Map<String, String> headers() {
        return headers;
    }

    /** What came back. */
    @SuppressWarnings("ArrayRecordComponent") // compared nowhere
    record Answer(int status, HttpHeaders headers, byte[] body) {
        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }

        JsonNode json() {
            return Json.LENIENT.readTree(body);
        }

        /** The code of the typed error; empty when it is none. */
        String code() {
            return status < 400 ? "" : json().path("error").path("code").asString("");
        }

        /** The body, if the status is one of these. */
        JsonNode ok(int... wanted) {
            for (int one : wanted) {
                if (status == one) {
                    return json();
                }
            }
            if (wanted.length == 0 && status / 100 == 2) {
                return body.length == 0 ? Json.LENIENT.createObjectNode() : json();
            }
            throw new AssertionError(status + " " + text());
        }

        /** The body as text, of a success. */
        String okText() {
            if (status / 100 != 2) {
                throw new AssertionError(toString());
            }
            return text();
        }

        @Override
        public String toString() {
            return status + " " + text();
        }
    }

    Answer get(String path) {
        return send("GET", path, null);
    }

    Answer post(String path, Object form) {
        return send("POST", path, Json.bytes(form));
    }

    Answer patch(String path, Object form) {
        return send("PATCH", path, Json.bytes(form));
    }

    Answer put(String path, Object form) {
        return send("PUT", path, Json.bytes(form));
    }

    Answer delete(String path) {
        return send("DELETE", path, null);
    }

    /** Sends bytes; JSON unless they go to the files. */
    Answer send(String method, String path, byte @org.jspecify.annotations.Nullable [] body) {
        try {
            HttpRequest.Builder request = request(path).timeout(LONGEST);
            boolean bytes =
                    path.contains("/files?")
                            || path.contains("/archive")
                            || path.contains("/stdin");
            request.header("Content-Type", bytes ? "application/octet-stream" : "application/json");
            request.method(
                    method,
                    body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
            HttpResponse<byte[]> answer = client.send(request.build(), BodyHandlers.ofByteArray());
            return new Answer(answer.statusCode(), answer.headers(), answer.body());
        } catch (IOException e) {
            throw new Unanswered(method + " " + path, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unanswered(method + " " + path, e);
        }
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(base.resolve(path));
        headers.forEach(request::header);
        return request;
    }

    /** No answer came, or half of one: whether it was done is not known. */
    static final class Unanswered extends RuntimeException {
        private static final long serialVersionUID = 1;

        Unanswered(String what, Exception cause) {
            super(what, cause);
        }
    }

    /** The items of a stream up to the one that is wanted, or to its end. */
    List<JsonNode> items(String path, Predicate<JsonNode> last) {
        return read(request(path).GET(), last);
    }

    /** The same of a request with a body. */
    List<JsonNode> items(String path, Object form, Predicate<JsonNode> last) {
        return read(
                request(path)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofByteArray(Json.bytes(form))),
                last);
    }

    private List<JsonNode> read(HttpRequest.Builder request, Predicate<JsonNode> last) {
        List<JsonNode> items = new ArrayList<>();
        try {
            HttpResponse<InputStream> answer =
                    client.send(
                            request.header("Accept", "application/x-ndjson").build(),
                            BodyHandlers.ofInputStream());
            try (BufferedReader lines =
                    new BufferedReader(
                            new InputStreamReader(answer.body(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    JsonNode item = Json.LENIENT.readTree(line);
                    items.add(item);
                    if (last.test(item)) {
                        return items;
                    }
                }
            }
            return items;
        } catch (IOException e) {
            throw new Unanswered("stream", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unanswered("stream", e);
        }
    }

    /** Every item of a list, over all its pages. */
    List<JsonNode> all(String path) {
        List<JsonNode> items = new ArrayList<>();
        String next = path + (path.contains("?") ? "&" : "?") + "limit=200";
        String cursor = "";
        while (true) {
            JsonNode page = get(cursor.isEmpty() ? next : next + "&cursor=" + encoded(cursor)).ok();
            page.path("items").forEach(items::add);
            cursor = page.path("nextCursor").asString("");
            if (cursor.isEmpty()) {
                return items;
            }
        }
    }

    /** Every event of the tenant, oldest first. */
    List<JsonNode> events() {
        List<JsonNode> events = new ArrayList<>();
        while (true) {
            long after = events.isEmpty() ? 0 : events.getLast().path("seq").asLong();
            JsonNode page = get("/v1/events?limit=200&after=" + after).ok();
            if (page.path("items").isEmpty()) {
                return events;
            }
            page.path("items").forEach(events::add);
        }
    }

    static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /** A new sandbox's id. */
    String sandbox(Map<String, ?> form) {
        return post("/v1/sandboxes", form).ok(201).path("id").asString();
    }

    /** Runs a line of shell to its end; the exec. */
    JsonNode sh(String sandbox, String line) {
        return post("/v1/sandboxes/" + sandbox + "/execs", Map.of("command", line)).ok(200);
    }

    /** What a line of shell wrote. */
    String out(String sandbox, String line) {
        return stdout(sh(sandbox, line));
    }

    static String stdout(JsonNode exec) {
        return exec.path("result").path("stdout").path("data").asString("");
    }
}
