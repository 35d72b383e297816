package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import dev.caisson.v1.SecretSlot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The place of a credential in requests. Immutable. */
final class Slot {
    // Putting these in would change where the request goes, or where it ends.
    private static final Set<String> NEVER =
            Set.of(
                    "host",
                    "content-length",
                    "transfer-encoding",
                    "connection",
                    "upgrade",
                    "expect");
    private static final String AUTHORIZATION = "authorization";

    private final SecretSlot slot;
    private final Clock clock;

    Slot(SecretSlot slot, Clock clock) {
        this.slot = slot;
        this.clock = clock;
    }

    /** Whether a request that matches the binding is one that this slot is for. */
    boolean fits(String method, String target) {
        return !slot.kind().equals("git")
                || GitRequests.allowed(method, target, Boolean.TRUE.equals(slot.push()));
    }

    /** Takes out what the program put there, and returns it. */
    List<String> clear(Broker.Outgoing request) {
        List<String> removed = new ArrayList<>();
        if (slot.kind().equals("query")) {
            removed.addAll(clearQuery(request, Set.of(parameter())));
            return removed;
        }
        removed.addAll(headers(request, headerName()));
        if (slot.kind().equals("sigv4")) {
            removed.addAll(headers(request, "x-amz-security-token"));
            removed.addAll(headers(request, "x-amz-date"));
            removed.addAll(
                    clearQuery(
                            request,
                            Set.of(
                                    "x-amz-algorithm",
                                    "x-amz-credential",
                                    "x-amz-date",
                                    "x-amz-expires",
                                    "x-amz-signedheaders",
                                    "x-amz-signature",
                                    "x-amz-security-token")));
        }
        return removed;
    }

    /**
     * Puts the credential in, which the slot was cleared for.
     *
     * @param value of the secret; of the access token for {@code oauth}
     */
    void put(Broker.Outgoing request, String value) throws IOException {
        switch (slot.kind()) {
            case "header" -> set(request, headerName(), format().replace("{}", value));
            case "basic", "git" -> set(request, AUTHORIZATION, basic(value));
            case "oauth" -> set(request, AUTHORIZATION, "Bearer " + value);
            case "query" -> {
                List<String> parts = Queries.parts(request.target());
                parts.add(Queries.encode(parameter()) + "=" + Queries.encode(value));
                request.target(Queries.with(request.target(), parts));
            }
            case "sigv4" -> sign(request, value);
            default -> throw unusable("kind " + slot.kind());
        }
    }

    private String headerName() {
        return slot.kind().equals("header") && slot.name() != null
                ? slot.name().toLowerCase(Locale.ROOT)
                : AUTHORIZATION;
    }

    private String parameter() {
        return Optional.ofNullable(slot.name()).orElse("");
    }

    private String format() {
        if (slot.format() != null) {
            return slot.format();
        }
        return headerName().equals(AUTHORIZATION) ? "Bearer {}" : "{}";
    }

    private String basic(String value) {
        String pair = slot.user() == null ? value : slot.user() + ":" + value;
        return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
    }

    private static void set(Broker.Outgoing request, String name, String value) throws IOException {
        String bytes =
                new String(value.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        if (!HttpHeaders.isToken(name) || NEVER.contains(name) || !HttpHeaders.isValue(bytes)) {
            throw unusable("header");
        }
        HttpHeaders.set(request.headers(), name, bytes);
    }

    private void sign(Broker.Outgoing request, String value) throws IOException {
        String[] parts = value.split(":", 3);
        if (parts.length < 2 || slot.region() == null || slot.service() == null) {
            throw unusable("sigv4");
        }
        Map<String, List<String>> headers = request.headers();
        String payload = payload(request, slot.service().equals("s3"));
        String time = SigV4.time(clock.instant());
        HttpHeaders.set(headers, "x-amz-date", time);
        if (parts.length == 3) {
            HttpHeaders.set(headers, "x-amz-security-token", parts[2]);
        }
        SigV4 signer = new SigV4(parts[0], parts[1], slot.region(), slot.service());
        set(
                request,
                AUTHORIZATION,
                signer.authorization(request.method(), request.target(), headers, time, payload));
    }

    // What the program says of its body is what is signed: a lie only fails at the server.
    private static String payload(Broker.Outgoing request, boolean told) throws IOException {
        String name = "x-amz-content-sha256";
        Optional<String> said = HttpHeaders.one(request.headers(), name);
        if (said.isPresent()) {
            String word = said.get();
            if (word.matches("[0-9a-f]{64}")
                    || word.equals("UNSIGNED-PAYLOAD")
                    || word.equals("STREAMING-UNSIGNED-PAYLOAD-TRAILER")) {
                return word;
            }
            if (word.startsWith("STREAMING-")) {
                throw new DeniedException(
                        new Verdict(
                                Verdict.Answer.DENY,
                                "secret sigv4 streaming",
                                "Chunks that are signed one by one cannot be signed anew; let the"
                                        + " client send the body unsigned or with its hash."));
            }
        }
        request.headers().remove(name);
        String hash = request.bodyHash();
        if (told) {
            HttpHeaders.set(request.headers(), name, hash);
        }
        return hash;
    }

    private static List<String> headers(Broker.Outgoing request, String name) {
        List<String> removed = request.headers().remove(name);
        return removed == null ? List.of() : removed;
    }

    private static List<String> clearQuery(Broker.Outgoing request, Set<String> names) {
        List<String> removed = new ArrayList<>();
        List<String> kept = new ArrayList<>();
        boolean any = names.size() > 1;
        for (String part : Queries.parts(request.target())) {
            String name = Queries.name(part);
            boolean gone = names.contains(any ? name.toLowerCase(Locale.ROOT) : name);
            (gone ? removed : kept).add(part);
        }
        if (!removed.isEmpty()) {
            request.target(Queries.with(request.target(), kept));
        }
        return removed;
    }

    private static DeniedException unusable(String what) {
        return new DeniedException(
                new Verdict(
                        Verdict.Answer.DENY,
                        "secret slot",
                        "The secret cannot be put in (" + what + "); its owner must correct it."));
    }
}
