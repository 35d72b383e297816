package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Idempotency;
import dev.caisson.v1.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Requests with an {@code Idempotency-Key}: done once, answered as often as asked. */
final class Keyed {
    private static final String HEADER = "Idempotency-Key";
    private static final Map<String, String> REPLAYED = Map.of("Idempotency-Replayed", "true");

    private final Idempotency answers;

    Keyed(Idempotency answers) {
        this.answers = answers;
    }

    Answer run(Exchange exchange) throws IOException {
        Optional<String> header =
                exchange.route.creates ? exchange.header(HEADER) : Optional.empty();
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
        if (exchange.query.text("mode").orElse("").equals("stream")) {
            exchange.response.getHeaders().put("Idempotency-Replayed", "true");
            exchange.replay(Json.LENIENT.readTree(known.get().body()).path("id").asString());
            return exchange.route.action.run(exchange);
        }
        return new Answer.Text(
                known.get().status(), "application/json", known.get().body(), REPLAYED);
    }

    /** What was begun must never be begun again, even when waiting for it fails. */
    private Answer first(Exchange exchange, String key) throws IOException {
        boolean streams = exchange.query.text("mode").orElse("").equals("stream");
        Started started = new Started(exchange, key);
        exchange.onStarted((form, settle) -> {
            started.form = form;
            started.settle = settle;
            if (streams) {
                started.keep();
            }
        });
        try {
            Answer answer = exchange.route.action.run(exchange);
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
                complete(exchange, key, answer.status(), answer.body());
                kept = true;
            }
        }

        /** With what is known: it has begun. */
        void keep() {
            settled();
            complete(exchange, key, 202, form);
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
                if (!kept) {
                    answers.abandon(exchange.caller(), exchange.route.name(), key);
                }
            }
        }
    }

    private void complete(Exchange exchange, String key, int status, @Nullable Object form) {
        Object kept = form;
        if (exchange.route.redaction != null && form != null) {
            kept = exchange.route.redaction.apply(form);
        }
        answers.complete(
                exchange.caller(),
                exchange.route.name(),
                key,
                new Idempotency.Answer(status, kept == null ? "{}" : Json.write(kept)));
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
