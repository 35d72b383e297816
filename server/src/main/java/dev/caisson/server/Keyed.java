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
        boolean kept = false;
        try {
            boolean streams = exchange.query.text("mode").orElse("").equals("stream");
            Started started = new Started();
            exchange.onStarted(form -> {
                started.form = form;
                if (streams) {
                    complete(exchange, key, 202, form);
                    started.kept = true;
                }
            });
            try {
                Answer answer = exchange.route.action.run(exchange);
                if (!started.kept && answer instanceof Answer.Form done) {
                    complete(exchange, key, done.status(), done.body());
                    started.kept = true;
                }
                return answer;
            } finally {
                if (!started.kept && started.form != null) {
                    complete(exchange, key, 202, started.form);
                    started.kept = true;
                }
                kept = started.kept;
            }
        } finally {
            if (!kept) {
                answers.abandon(exchange.caller(), exchange.route.name(), key);
            }
        }
    }

    /** What is known of a request that goes on. */
    private static final class Started {
        @Nullable Object form;
        boolean kept;
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
