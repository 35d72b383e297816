package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JavaType;

/** Sends requests to one server, again where that is safe. Thread-safe. */
final class Http implements AutoCloseable {
    private final RemoteConfig config;
    private final String base;
    private final HttpClient client;
    private final ExecutorService threads =
            Executors.newThreadPerTaskExecutor(
                    Thread.ofVirtual().name("caisson-http-", 0).factory());

    Http(RemoteConfig config) {
        this.config = config;
        String url = config.url().toString();
        this.base = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
        HttpClient.Builder builder =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .followRedirects(HttpClient.Redirect.NEVER)
                        .connectTimeout(config.connectTimeout())
                        .executor(threads);
        config.caFile().ifPresent(file -> builder.sslContext(Certificates.trusting(file)));
        this.client = builder.build();
    }

    RemoteConfig config() {
        return config;
    }

    /** What is done with an answer; a broken one throws. */
    @FunctionalInterface
    interface Reader<T> {
        T read(Answer answer) throws IOException;
    }

    /** Makes a form of JSON. */
    @FunctionalInterface
    private interface Parser<T> {
        @Nullable T parse(byte[] json);
    }

    /** Sends a call and reads its JSON answer. */
    <T> T read(Call call, Class<T> type) {
        return parsed(call, json -> Json.LENIENT.readValue(json, type));
    }

    /** Sends a call and reads a part of a list. */
    <T> Page<T> page(Call call, Class<T> item) {
        JavaType page = Json.LENIENT.getTypeFactory().constructParametricType(Page.class, item);
        return parsed(call, json -> Json.LENIENT.<Page<T>>readValue(json, page));
    }

    /** Sends a call whose answer is a whole list. */
    <T> List<T> items(Call call, Class<T> item) {
        return page(call, item).items();
    }

    private <T> T parsed(Call call, Parser<T> parser) {
        call.header("Accept", "application/json");
        return send(
                call,
                answer -> {
                    try (answer) {
                        return parse(bytes(answer.stream(), config.answerLimit().bytes()), parser);
                    }
                });
    }

    private static <T> T parse(byte[] json, Parser<T> parser) {
        try {
            T form = parser.parse(json);
            if (form == null) {
                throw Failures.malformed("null instead of an object", null);
            }
            return form;
        } catch (JacksonException e) {
            throw Failures.malformed(String.valueOf(e.getOriginalMessage()), e);
        }
    }

    /** Reads a body of at most that many bytes. */
    private static byte[] bytes(InputStream body, long limit) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] chunk = new byte[16 << 10];
        for (int n = body.read(chunk); n >= 0; n = body.read(chunk)) {
            if (bytes.size() + (long) n > limit) {
                throw CaissonException.of(
                                ErrorCode.TOO_LARGE,
                                "The server's answer has more than " + limit + " bytes.")
                        .withDetail("limit", "answer")
                        .withDetail("allowed", Long.toString(limit));
            }
            bytes.write(chunk, 0, n);
        }
        return bytes.toByteArray();
    }

    /** Sends a call and drops the answer's body. */
    void run(Call call) {
        send(
                call,
                answer -> {
                    try (answer) {
                        return bytes(answer.stream(), config.answerLimit().bytes()).length;
                    }
                });
    }

    /** Sends a call; the caller closes the answer. */
    Answer open(Call call) {
        return send(call, answer -> answer);
    }

    /** Sends a call until it is answered, or must not be sent again. */
    <T> T send(Call call, Reader<T> reader) {
        for (int attempt = 1; ; attempt++) {
            Retry.Outcome outcome;
            try {
                HttpResponse<PolledBody> response = exchange(call);
                Answer answer =
                        new Answer(response.statusCode(), response.headers(), response.body());
                if (answer.status() >= 200 && answer.status() < 300) {
                    return reader.read(answer);
                }
                outcome = refused(answer);
            } catch (IOException e) {
                outcome = Retry.Outcome.broken(Failures.broken(config.url(), e));
            }
            Retry.pause(call.again(), outcome, attempt);
        }
    }

    private Retry.Outcome refused(Answer answer) throws IOException {
        try (answer) {
            byte[] body = answer.stream().readNBytes(Failures.LIMIT);
            CaissonException failure = Failures.of(answer.status(), body, config.url());
            return Retry.Outcome.refused(
                    failure,
                    answer.status(),
                    answer.headers().firstValue("retry-after").orElse(""));
        }
    }

    private HttpResponse<PolledBody> exchange(Call call) throws IOException {
        HttpRequest.Builder builder =
                HttpRequest.newBuilder(URI.create(base + call.target()))
                        .method(call.method(), call.body())
                        .timeout(call.timeoutOr(config.requestTimeout()))
                        .header("Authorization", "Bearer " + config.key());
        config.tenant().ifPresent(tenant -> builder.header("Caisson-Tenant", tenant));
        call.headers().forEach(builder::header);
        try {
            return client.send(builder.build(), info -> new PolledBody(config.idleTimeout()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failures.cancelled();
        }
    }

    /** Opens a WebSocket; a server that says no is an exception. */
    WebSocket webSocket(Call call, WebSocket.Listener listener) {
        WebSocket.Builder builder =
                client.newWebSocketBuilder()
                        .connectTimeout(config.connectTimeout())
                        .header("Authorization", "Bearer " + config.key());
        config.tenant().ifPresent(tenant -> builder.header("Caisson-Tenant", tenant));
        URI target = URI.create("ws" + base.substring("http".length()) + call.target());
        return Sockets.open(builder, target, listener, config);
    }

    /** Runs something on a thread of its own, with a name. */
    Thread start(String name, Runnable task) {
        return Thread.ofVirtual().name(name).start(task);
    }

    Duration requestTimeout() {
        return config.requestTimeout();
    }

    @Override
    public void close() {
        client.shutdownNow();
        threads.shutdown();
    }
}
