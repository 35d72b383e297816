package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.Json;
import java.nio.charset.StandardCharsets;

/** What the proxy says itself: JSON, or a small page for browsers. It closes the connection. */
final class ProxyErrors {
    private ProxyErrors() {}

    static byte[] answer(int status, CaissonException error, boolean html) {
        String id = RequestIds.next();
        byte[] body =
                html
                        ? page(status, error, id).getBytes(StandardCharsets.UTF_8)
                        : Json.bytes(new Forms.ErrorBody(Failures.json(error, id)));
        String head =
                "HTTP/1.1 "
                        + status
                        + " \r\nContent-Type: "
                        + (html ? "text/html; charset=utf-8" : "application/json")
                        + "\r\nContent-Length: "
                        + body.length
                        + "\r\nCaisson-Request-Id: "
                        + id
                        + "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store"
                        + "\r\nContent-Security-Policy: "
                        + Secure.NOTHING
                        + "\r\nConnection: close\r\n\r\n";
        byte[] start = head.getBytes(StandardCharsets.ISO_8859_1);
        byte[] all = java.util.Arrays.copyOf(start, start.length + body.length);
        System.arraycopy(body, 0, all, start.length, body.length);
        return all;
    }

    /** The messages are our own; none of them quotes a client. */
    private static String page(int status, CaissonException error, String id) {
        return "<!doctype html><meta charset=\"utf-8\"><title>"
                + status
                + "</title><h1>"
                + status
                + "</h1><p>"
                + DocsPage.escaped(error.message())
                + "</p><p>"
                + DocsPage.escaped(error.remedy())
                + "</p><p><small>"
                + id
                + "</small></p>";
    }
}
