package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Idempotency;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Requests with an {@code Idempotency-Key}: done once, answered as often as asked. */
final class Keyed {
    private static final String HEADER = "Idempotency-Key";
    private static final String REPLAYED = "Idempotency-Replayed";

    /** Headers of an answer that say where what was made is, and which version of it. */
    private static final List<String> KEPT = List.of("Location", "ETag");

    private final Idempotency answers;

    Keyed(Idempotency answers) {
        this.answers = answers;
    }

    Answer run(Exchange exchange) throws IOException {
        Route route = exchange.route;
        Optional<String> header =
                route.creates || route.toldOnce ? exchange.header(HEADER) : Optional.empty();
        if (header.isPresent() && route.toldOnce) {
            throw CaissonException.invalid(
                            HEADER, "What this route gives is told once and never replayed.")
                    .withRemedy("Send it without a key; what is not used expires by itself.");
        }
        if (header.isEmpty()) {
            return exchange.route.action.run(exchange);
        }
        String key = header.get();
        if (!key.matches("[!-~]{1,255}")) {
            throw CaissonException.invalid(
                    HEADER, "An idempotency key has 1 to 255 characters of printable ASCII.");
        }
        Optional<Idempotency.Answer> known =
                answers.begin(exchange.caller(), exchange.route.name(), key, hash(exchange));
        if (known.isEmpty()) {
            return first(exchange, key);
        }
        return replay(exchange, known.get());
    }

    private static Answer replay(Exchange exchange, Idempotency.Answer known) throws IOException {
        String made = known.made();
        if (made == null && streams(exchange)) {
            made = Json.LENIENT.readTree(known.body()).path("id").asString();
        }
        if (made != null) {
            exchange.response.getHeaders().put(REPLAYED, "true");
            exchange.replay(made);
            return exchange.route.action.run(exchange);
        }
        Map<String, String> headers = new HashMap<>(known.headers());
        headers.put(REPLAYED, "true");
        return new Answer.Text(known.status(), "application/json", known.body(), headers);
    }

    private static boolean streams(Exchange exchange) {
        return exchange.query.text("mode").orElse("").equals("stream");
    }

    /** What was begun must never be begun again, even when waiting for it fails. */
    private Answer first(Exchange exchange, String key) throws IOException {
        boolean streams = streams(exchange);
        Started started = new Started(exchange, key);
        exchange.onStarted((form, settle) -> {
            started.form = form;
            started.settle = settle;
            if (streams) {
                started.keep();
            }
        });
        try {
            Answer answer =
                    answers.<Answer, IOException>during(
                            exchange.caller(),
                            exchange.route.name(),
                            key,
                            () -> exchange.route.action.run(exchange));
            if (answer instanceof Answer.Form done) {
                started.keep(done);
            }
            return answer;
        } finally {
            started.over();
        }
    }

    /** A request that goes on, and whether its answer is kept. */
    private final class Started {
        private final Exchange exchange;
        private final String key;
        private boolean kept;

        /** Done, though it may be that its answer cannot be kept. */
        private boolean done;

        @Nullable Object form;
        Runnable settle = () -> {};

        Started(Exchange exchange, String key) {
            this.exchange = exchange;
            this.key = key;
        }

        void keep(Answer.Form answer) {
            if (!kept && answer.status() == 202) {
                settled();
            }
            if (!kept) {
                complete(answer.status(), answer.body(), answer.headers());
            }
        }

        /** With what is known: it has begun. */
        void keep() {
            settled();
            complete(202, form, Map.of());
        }

        private void complete(int status, @Nullable Object body, Map<String, String> headers) {
            done = true;
            Keyed.this.complete(exchange, key, status, body, headers);
            kept = true;
        }

        /** An answer that names what a crash can make unknown must never be kept. */
        private void settled() {
            try {
                settle.run();
            } catch (RuntimeException e) {
                form = null; // it was ended: the request may be sent again
                throw e;
            }
        }

        void over() {
            try {
                if (!kept && form != null) {
                    keep();
                }
            } finally {
                if (!kept && done) {
                    answers.leave(exchange.caller(), exchange.route.name(), key);
                } else if (!kept) {
                    answers.abandon(exchange.caller(), exchange.route.name(), key);
                }
            }
        }
    }

    private void complete(
            Exchange exchange,
            String key,
            int status,
            @Nullable Object form,
            Map<String, String> given) {
        Map<String, String> headers = new HashMap<>();
        for (String name : KEPT) {
            String value = given.get(name);
            value = value == null ? exchange.response.getHeaders().get(name) : value;
            if (value != null) {
                headers.put(name, value);
            }
        }
        Object kept = form;
        if (exchange.route.redaction != null && form != null) {
            kept = exchange.route.redaction.apply(form);
        }
        answers.complete(
                exchange.caller(),
                exchange.route.name(),
                key,
                new Idempotency.Answer(
                        status, kept == null ? "{}" : Json.write(kept), headers, null));
    }

    /** Over all that says what is asked: the path's parts, the query, the body. */
    private static String hash(Exchange exchange) throws IOException {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            String target = exchange.request.getHttpURI().getPathQuery();
            digest.update((target == null ? "" : target).getBytes(StandardCharsets.UTF_8));
            digest.update((byte) 0);
            digest.update(exchange.body());
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256.", e);
        }
    }
}
