package dev.caisson.server;

import dev.caisson.control.PortService;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * How a browser gets in to a port: it follows a link, gets a cookie of this host alone, which
 * {@link ProxyHeads} takes out of what goes inside, and goes on to the program.
 */
final class PortEntry {
    private static final String COOKIE = "caisson_port";

    /** A page of another host may set more of that name; one that is good is enough. */
    private static final int MAX_COOKIES = 8;

    private PortEntry() {}

    /** The link that a request follows. */
    static Optional<String> link(Messages.Head head) {
        String target = head.target();
        boolean follows = head.method().equals("GET") && target.startsWith(PortService.LINKS);
        return follows
                ? Optional.of(target.substring(PortService.LINKS.length()))
                : Optional.empty();
    }

    /** Gives the cookie and sends the browser on. */
    static byte[] answer(PortService.Entry entry, boolean secure) {
        String cookie =
                COOKIE
                        + "="
                        + entry.pass()
                        + "; Path=/; Max-Age="
                        + Math.max(1, entry.life().toSeconds())
                        + "; HttpOnly; SameSite=Lax"
                        + (secure ? "; Secure" : "");
        String head =
                String.join(
                        "\r\n",
                        "HTTP/1.1 303 ",
                        "Location: " + entry.path(),
                        "Set-Cookie: " + cookie,
                        "Cache-Control: no-store",
                        "Referrer-Policy: no-referrer",
                        "X-Content-Type-Options: nosniff",
                        "Content-Length: 0",
                        "Connection: close",
                        "",
                        "");
        return head.getBytes(StandardCharsets.ISO_8859_1);
    }

    /**
     * The passes in a request's cookies; none when another origin has it made. A browser sends
     * cookies of this kind with what pages of other sandboxes ask for too, since all are of one
     * site: only what this port's own pages ask for, and going to it, may use them.
     */
    static List<String> passes(Messages.Head head) {
        List<String> passes = new ArrayList<>();
        if (foreign(head)) {
            return passes;
        }
        for (String line : head.values("Cookie")) {
            for (String cookie : line.split(";", -1)) {
                String text = cookie.strip();
                if (text.startsWith(COOKIE + "=") && passes.size() < MAX_COOKIES) {
                    passes.add(text.substring(COOKIE.length() + 1));
                }
            }
        }
        return passes;
    }

    /** By what browsers say of a request (Fetch, 3.2; Fetch Metadata, 2): no page can choose it. */
    private static boolean foreign(Messages.Head head) {
        String host = head.value("Host").orElse("").toLowerCase(Locale.ROOT);
        for (String origin : head.values("Origin")) {
            // Of another scheme where something before this listener speaks TLS.
            String own = origin.toLowerCase(Locale.ROOT).replaceFirst("^https?://", "");
            if (host.isEmpty() || !own.equals(host)) {
                return true;
            }
        }
        boolean goes =
                (head.method().equals("GET") || head.method().equals("HEAD"))
                        && head.has("Sec-Fetch-Mode", "navigate")
                        && head.has("Sec-Fetch-Dest", "document");
        for (String site : head.values("Sec-Fetch-Site")) {
            if (!site.equals("same-origin") && !site.equals("none") && !goes) {
                return true;
            }
        }
        return false;
    }
}
