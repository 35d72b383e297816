package dev.caisson.server;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpVersion;

/** Heads of messages as they are passed on: ours is taken out, framing is made anew. */
final class ProxyHeads {
    static final String TOKEN = "Caisson-Port-Token";

    private static final Set<String> HOP =
            Set.of(
                    "connection",
                    "keep-alive",
                    "proxy-connection",
                    "proxy-authenticate",
                    "proxy-authorization",
                    "te",
                    "trailer",
                    "transfer-encoding",
                    "upgrade",
                    "content-length",
                    "expect",
                    "http2-settings");
    private static final Set<String> OURS =
            Set.of(
                    "x-api-key",
                    "caisson-port-token",
                    "caisson-tenant",
                    "caisson-agent",
                    "caisson-task",
                    "forwarded",
                    "x-forwarded-for",
                    "x-forwarded-host",
                    "x-forwarded-proto",
                    "x-real-ip");
    private static final Set<String> NOT_BACK = Set.of("alt-svc", "strict-transport-security");
    private static final Pattern OUR_KEY =
            Pattern.compile("(?i)bearer\\s+((caisson_|e2b_).*|[0-9a-f]{40})\\s*");
    private static final Pattern DOMAIN = Pattern.compile("(?i);\\s*domain\\s*=[^;]*");

    private ProxyHeads() {}

    /** The head that goes inside. */
    static String request(Messages.Head head, String client, boolean secure, boolean upgrades)
            throws IOException {
        StringBuilder text = new StringBuilder();
        line(text, head.method() + " " + head.target() + " HTTP/1.1");
        Set<String> named = named(head);
        for (HttpField field : head.fields()) {
            String name = field.getName().toLowerCase(Locale.ROOT);
            String value = field.getValue() == null ? "" : field.getValue();
            if (HOP.contains(name) || OURS.contains(name) || named.contains(name)) {
                continue;
            }
            if (name.equals("authorization") && OUR_KEY.matcher(value).matches()) {
                continue;
            }
            if (name.equals("cookie")) {
                value = cookies(value);
                if (value.isEmpty()) {
                    continue;
                }
            }
            line(text, field.getName() + ": " + value);
        }
        line(text, "X-Forwarded-For: " + client);
        line(text, "X-Forwarded-Proto: " + (secure ? "https" : "http"));
        line(text, "X-Forwarded-Host: " + head.value("Host").orElse(""));
        if (head.chunked()) {
            line(text, "Transfer-Encoding: chunked");
        } else if (head.length() >= 0 && head.value("Content-Length").isPresent()) {
            line(text, "Content-Length: " + head.length());
        }
        if (upgrades) {
            line(text, "Connection: Upgrade");
            line(text, "Upgrade: " + head.value("Upgrade").orElse(""));
        } else {
            line(text, "Connection: close");
        }
        return text.append("\r\n").toString();
    }

    /** The head that comes back; {@code framing} says where its body ends. */
    static String response(Messages.Head head, List<String> framing) throws IOException {
        StringBuilder text = new StringBuilder();
        line(text, "HTTP/1.1 " + head.status() + " ");
        Set<String> named = named(head);
        for (HttpField field : head.fields()) {
            String name = field.getName().toLowerCase(Locale.ROOT);
            String value = field.getValue() == null ? "" : field.getValue();
            if (HOP.contains(name) || NOT_BACK.contains(name) || named.contains(name)) {
                continue;
            }
            if (name.equals("set-cookie")) {
                if (ours(value)) {
                    continue;
                }
                // A cookie for the whole domain would be sent to other sandboxes.
                value = DOMAIN.matcher(value).replaceAll("");
            }
            line(text, field.getName() + ": " + value);
        }
        for (String field : framing) {
            line(text, field);
        }
        return text.append("\r\n").toString();
    }

    /** What Connection names is of this hop only. */
    private static Set<String> named(Messages.Head head) {
        Set<String> names = new TreeSet<>();
        for (String value : head.values("Connection")) {
            for (String name : value.split(",", -1)) {
                names.add(name.strip().toLowerCase(Locale.ROOT));
            }
        }
        // A request without it would have another meaning inside.
        names.remove("host");
        return names;
    }

    private static String cookies(String value) {
        List<String> kept = new ArrayList<>();
        for (String cookie : value.split(";", -1)) {
            if (!cookie.isBlank() && !ours(cookie)) {
                kept.add(cookie.strip());
            }
        }
        return String.join("; ", kept);
    }

    private static boolean ours(String cookie) {
        return cookie.strip().toLowerCase(Locale.ROOT).startsWith("caisson");
    }

    private static void line(StringBuilder text, String line) throws IOException {
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if ((c < ' ' && c != '\t') || c == 0x7F || c > 0xFF) {
                throw new Messages.Malformed(400, "A header holds a control character.");
            }
        }
        text.append(line).append("\r\n");
    }

    /** Whether the client's connection can have another request after this one. */
    static boolean persistent(Messages.Head request) {
        return request.version() == HttpVersion.HTTP_1_1 && !request.has("Connection", "close");
    }
}
