package dev.caisson.server;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A line of the table of routes: what is served and what is documented. */
final class Route {
    /** What the body of a request or an answer is. */
    enum Kind {
        NONE,
        JSON,
        PAGE,
        ITEMS,
        BYTES,
        STREAM,
        TEXT,
        WEBSOCKET
    }

    /** What a route does. */
    @FunctionalInterface
    interface Action {
        Answer run(Exchange exchange) throws IOException;
    }

    /** Nobody needs a credential. */
    static final String OPEN = "none";

    /** Every credential will do. */
    static final String ANY = "any";

    final String method;
    final String path;
    String scope = ANY;
    Kind takes = Kind.NONE;
    @Nullable Class<?> body;
    boolean mergePatch;
    boolean bodyOptional;
    boolean large;
    Kind gives = Kind.NONE;
    @Nullable Class<?> form;
    @Nullable String mediaType;
    final List<Integer> statuses = new ArrayList<>();
    final Map<String, String> query = new LinkedHashMap<>();
    String doc = "";
    boolean creates;
    boolean toldOnce;
    boolean ticket;
    @Nullable UnaryOperator<Object> redaction;
    Action action = exchange -> Answer.none();

    private Route(String method, String path) {
        this.method = method;
        this.path = path;
    }

    static Route get(String path) {
        return new Route("GET", path);
    }

    /** All of what is mounted there; no line of the table. */
    static Route mount(String path) {
        return new Route("MOUNT", path);
    }

    static Route post(String path) {
        return new Route("POST", path);
    }

    static Route put(String path) {
        return new Route("PUT", path);
    }

    static Route patch(String path) {
        Route route = new Route("PATCH", path);
        route.mergePatch = true;
        return route;
    }

    static Route delete(String path) {
        return new Route("DELETE", path);
    }

    /** {@code noun:read} or {@code noun:write}, {@link #OPEN} or {@link #ANY}. */
    Route scope(String name) {
        scope = name;
        return this;
    }

    Route takes(Class<?> type) {
        takes = Kind.JSON;
        body = type;
        return this;
    }

    /** A body that may be left out. */
    Route mayTake(Class<?> type) {
        bodyOptional = true;
        return takes(type);
    }

    Route takesBytes() {
        takes = Kind.BYTES;
        return this;
    }

    Route large() {
        large = true;
        return this;
    }

    Route gives(int status, Class<?> type) {
        return gives(status, Kind.JSON, type);
    }

    Route gives(int status, Kind kind, @Nullable Class<?> type) {
        statuses.add(status);
        gives = kind;
        form = type;
        return this;
    }

    Route givesText(String type) {
        mediaType = type;
        return gives(200, Kind.TEXT, null);
    }

    Route also(int status) {
        statuses.add(status);
        return this;
    }

    Route query(String name, String meaning) {
        query.put(name, meaning);
        return this;
    }

    Route pages() {
        return query("limit", "1 to 200; default 50.")
                .query("cursor", "nextCursor of the page before.");
    }

    /** Of another type of bytes than any. */
    Route as(String type) {
        mediaType = type;
        return this;
    }

    /** An {@code Idempotency-Key} is heeded. */
    Route creates() {
        creates = true;
        return this;
    }

    /** Its answer is a secret and nothing else: an {@code Idempotency-Key} is refused. */
    Route toldOnce() {
        toldOnce = true;
        return this;
    }

    /** Its answer holds a secret, which is told once; the rest may be kept for a replay. */
    <T> Route secret(Class<T> type, UnaryOperator<T> without) {
        redaction = answer -> without.apply(type.cast(answer));
        return this;
    }

    /** A one-time ticket will do instead of a key. */
    Route ticket() {
        ticket = true;
        return this;
    }

    Route doc(String sentence) {
        doc = sentence;
        return this;
    }

    Route does(Action what) {
        action = what;
        return this;
    }

    /** Method and template, as in logs and metrics. */
    String name() {
        return method + " " + path;
    }
}
