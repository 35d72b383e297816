package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What lets somebody in to a port: its token, links that are followed once, and the passes that a
 * browser gets for them. All are derived from the sandbox, its session, the port and its opening,
 * so that each is void with any of these; nothing of them is stored. Thread-safe.
 */
final class PortAccess {
    static final Duration LINK_LIFE = Duration.ofMinutes(1);

    private static final int TOKEN_BYTES = 20;
    private static final int OPENING_BYTES = 8;
    private static final int MAX_TEXT = 8 << 10;
    private static final Pattern PASS =
            Pattern.compile(
                    "(([0-9]{1,15})\\.([0-9a-z-]{1,64})\\.([0-9a-f]{0,64}))\\.([A-Za-z0-9_-]{43})");

    private final Vault vault;
    private final Supplier<Instant> now;

    /** Links are of one process, for only that knows which were followed. */
    private final String process = Credentials.newSecret();

    /** Links that were followed, with when; the oldest first, guarded by this. */
    private final Map<String, Instant> followed = new LinkedHashMap<>();

    PortAccess(Vault vault, Supplier<Instant> now) {
        this.vault = vault;
        this.now = now;
    }

    /**
     * What a link says.
     *
     * @param expires until when it can be followed
     * @param until for whom follows it
     * @param keyId of who made it
     * @param mark of what they presented
     * @param path where a browser goes on
     */
    record Link(
            String id, Instant expires, Instant until, String keyId, String mark, String path) {}

    /** Who is let in until when, as long as that key is good. */
    record Pass(Instant until, String keyId, String mark) {}

    /** A name for the next opening of a port. */
    static String newOpening() {
        return Credentials.newSecret().substring(0, 2 * OPENING_BYTES);
    }

    /** The token in its header. */
    String token(SandboxDoc doc, int port) {
        return HexFormat.of().formatHex(vault.hmac("port\n" + place(doc, port)), 0, TOKEN_BYTES);
    }

    /** Ports that were opened before openings had names keep their tokens. */
    private static String place(SandboxDoc doc, int port) {
        String place = doc.id + "\n" + doc.session + "\n" + port;
        String opening = doc.openings.get(Integer.toString(port));
        return opening == null ? place : place + "\n" + opening;
    }

    /** Whether this is the port's token; null is none. */
    boolean isToken(SandboxDoc doc, int port, @Nullable String given) {
        return same(token(doc, port), given == null ? "" : given);
    }

    private static boolean same(String expected, String given) {
        return MessageDigest.isEqual(
                expected.getBytes(StandardCharsets.UTF_8), given.getBytes(StandardCharsets.UTF_8));
    }

    /** A link's text for a URL. */
    String write(SandboxDoc doc, int port, Link link) {
        String text = Base64.getUrlEncoder().withoutPadding().encodeToString(Json.bytes(link));
        return text + "." + signature("link\n" + process, doc, port, text);
    }

    private String signature(String purpose, SandboxDoc doc, int port, String text) {
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(
                        vault.hmac("port " + purpose + "\n" + place(doc, port) + "\n" + text));
    }

    /**
     * Follows a link, which nobody can do again.
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}
     */
    Link follow(SandboxDoc doc, int port, String given) {
        int dot = given.indexOf('.');
        if (dot < 0 || given.length() > MAX_TEXT) {
            throw refused();
        }
        String text = given.substring(0, dot);
        if (!same(signature("link\n" + process, doc, port, text), given.substring(dot + 1))) {
            throw refused();
        }
        Link link =
                Json.read(
                        new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8),
                        Link.class);
        Instant at = now.get();
        if (!at.isBefore(link.expires()) || !first(link.id(), at)) {
            throw refused();
        }
        return link;
    }

    private synchronized boolean first(String id, Instant at) {
        followed.values().removeIf(when -> !at.isBefore(when.plus(LINK_LIFE)));
        return followed.putIfAbsent(id, at) == null;
    }

    static CaissonException refused() {
        return CaissonException.of(
                        ErrorCode.UNAUTHENTICATED,
                        "This link was followed already, has expired, or is not one of this port.")
                .withRemedy("Ask for another one where it came from.");
    }

    /** The pass of who followed a link, as a browser's cookie holds it. */
    String pass(SandboxDoc doc, int port, Link link) {
        String text = link.until().toEpochMilli() + "." + link.keyId() + "." + link.mark();
        return text + "." + signature("pass", doc, port, text);
    }

    /** What a pass says, if it is one of this opening of that port and its time is not over. */
    Optional<Pass> check(SandboxDoc doc, int port, String given) {
        Matcher parts = PASS.matcher(given);
        if (!parts.matches()
                || !same(signature("pass", doc, port, parts.group(1)), parts.group(5))) {
            return Optional.empty();
        }
        Instant until = Instant.ofEpochMilli(Long.parseLong(parts.group(2)));
        return now.get().isBefore(until)
                ? Optional.of(new Pass(until, parts.group(3), parts.group(4)))
                : Optional.empty();
    }
}
