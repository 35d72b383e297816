package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.core.Room;
import dev.caisson.core.TenantPlaces;
import dev.caisson.v1.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/** One request and its answer; of the virtual thread that serves it. */
final class Exchange {
    private static final long FOREVER = Long.MAX_VALUE;

    /** Bodies up to this are always read. */
    private static final int FREE_BODY = 64 << 10;

    /** What a byte of a body costs until it is a form. */
    private static final long BODY_COST = 4;

    /** What this request holds in memory. */
    final Room room = Room.enter();

    final Request request;
    final Response response;
    final Callback callback;
    final String id;
    final ServerLimits limits;
    Route route;
    Map<String, String> parameters = Map.of();
    RequestQuery query = RequestQuery.parse(null);
    private @Nullable Caller caller;
    private byte @Nullable [] body;
    private @Nullable String replay;
    private TenantPlaces.@Nullable Place place;
    private BiConsumer<Object, Runnable> onStarted = (form, settle) -> {};

    Exchange(
            Request request,
            Response response,
            Callback callback,
            String id,
            ServerLimits limits,
            Route unknown) {
        this.request = request;
        this.response = response;
        this.callback = Callback.from(callback, room::close);
        this.id = id;
        this.limits = limits;
        this.route = unknown;
    }

    Caller caller() {
        if (caller == null) {
            throw Refusal.unauthenticated();
        }
        return caller;
    }

    @Nullable Caller callerOrNull() {
        return caller;
    }

    void caller(Caller who) {
        caller = who;
        room.owner(who.tenant());
    }

    /** The id of what an earlier request with the same key has begun; null: begin it. */
    @Nullable String replay() {
        return replay;
    }

    void replay(String startedId) {
        replay = startedId;
    }

    /** To be told what was begun and goes on by itself, and how to wait until that is durable. */
    void onStarted(BiConsumer<Object, Runnable> listener) {
        onStarted = listener;
    }

    /**
     * Something was begun.
     *
     * @param settle returns when its start is durable; throws when it cannot be, and then it ends
     */
    void started(Object form, Runnable settle) {
        if (replay == null) {
            onStarted.accept(form, settle);
        }
    }

    String parameter(String name) {
        String value = parameters.get(name);
        if (value == null) {
            throw new IllegalStateException("The route has no " + name);
        }
        return value;
    }

    int port() {
        return Integer.parseInt(parameter("port"));
    }

    /** The one header of that name; more than one is refused. */
    Optional<String> header(String name) {
        return header(request, name);
    }

    static Optional<String> header(Request request, String name) {
        List<HttpField> fields = request.getHeaders().getFields(name);
        if (fields.size() > 1) {
            throw CaissonException.invalid(name, "The header '" + name + "' is given twice.");
        }
        return fields.isEmpty()
                ? Optional.empty()
                : Optional.ofNullable(fields.getFirst().getValue());
    }

    /** The whole body, within the limit of the route. */
    byte[] body() throws IOException {
        if (body == null) {
            body = readBody(route.large ? limits.runBodyBytes() : limits.bodyBytes());
        }
        return body.clone();
    }

    private byte[] readBody(int most) throws IOException {
        if (request.getLength() > most) {
            throw tooLarge(most);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        try (InputStream paced =
                new PacedInput(
                        Content.Source.asInputStream(request),
                        limits.minBytesPerSecond(),
                        limits.bodyTime().toNanos())) {
            for (int read; (read = paced.read(part)) >= 0; ) {
                if (all.size() + read > most) {
                    throw tooLarge(most);
                }
                if (all.size() > FREE_BODY) {
                    room.take(BODY_COST * read);
                }
                all.write(part, 0, read);
            }
        }
        return all.toByteArray();
    }

    private static CaissonException tooLarge(int most) {
        return CaissonException.of(ErrorCode.TOO_LARGE, "The body of the request is too large.")
                .withDetail("limit", "body")
                .withDetail("allowed", Integer.toString(most))
                .withRemedy("Send large files with PUT /v1/sandboxes/{id}/files.");
    }

    /** The form in the body. */
    <T> T json(Class<T> type) throws IOException {
        byte[] bytes = body();
        if (bytes.length == 0 && route.bodyOptional) {
            bytes = "{}".getBytes(StandardCharsets.US_ASCII);
        } else {
            checkContentType();
        }
        return complete("", Json.request(bytes, type));
    }

    private void checkContentType() {
        String type = header("Content-Type").orElse("").toLowerCase(Locale.ROOT).replace(" ", "");
        boolean json =
                type.equals("application/json") || type.equals("application/json;charset=utf-8");
        boolean patch = route.mergePatch && type.equals("application/merge-patch+json");
        if (!json && !patch) {
            throw new Refusal(
                    415,
                    CaissonException.invalid("Content-Type", "The body must be application/json.")
                            .withDetail("allowed", "application/json"));
        }
    }

    void refuseEncodedBody() {
        String coding = header("Content-Encoding").orElse("identity");
        if (!coding.equalsIgnoreCase("identity")) {
            throw new Refusal(
                    415,
                    CaissonException.invalid(
                            "Content-Encoding", "Send the body as it is, not compressed."));
        }
    }

    /** Refuses a form in which a reference is absent that must be there. */
    private static <T> T complete(String path, T form) {
        if (form instanceof Record) {
            for (FormPart part : FormPart.of(form.getClass())) {
                Object value = part.value(form);
                if (value == null && !part.nullable()) {
                    String name = part.within(path);
                    throw CaissonException.invalid(name, "The field '" + name + "' is missing.");
                }
                if (value instanceof List<?> items) {
                    for (int i = 0; i < items.size(); i++) {
                        if (items.get(i) instanceof Record item) {
                            complete(part.within(path) + "[" + i + "]", item);
                        }
                    }
                } else if (value instanceof Record inner) {
                    complete(part.within(path), inner);
                }
            }
        }
        return form;
    }

    /** The body as it comes, of any length; every break of it is an exception. */
    InputStream upload() {
        return new PacedInput(
                Content.Source.asInputStream(request), limits.minBytesPerSecond(), FOREVER);
    }

    /** The answer's body; each write goes out at once. */
    ClientOutput output() {
        return new ClientOutput(Content.Sink.asOutputStream(response));
    }

    /** The version of If-Match; null: any. Weak ones never match (RFC 9110, 13.1.1). */
    @Nullable Long ifMatch() {
        String value = header("If-Match").orElse("*");
        if (value.equals("*")) {
            return null;
        }
        if (!value.matches("\"[0-9]{1,18}\"")) {
            throw CaissonException.invalid(
                            "If-Match", "If-Match must be one strong ETag of this object.")
                    .withRemedy("Send the ETag as it came, such as \"3\".");
        }
        return Long.valueOf(value.substring(1, value.length() - 1));
    }

    /** Whether it has a place among those that take their time. */
    boolean lasts() {
        return place != null;
    }

    /** It has that place until it has ended. */
    void place(TenantPlaces.Place taken) {
        place = taken;
    }

    /** It was answered, or the answer is on its way. */
    void ended() {
        TenantPlaces.Place taken = place;
        if (taken != null) {
            taken.close();
        }
        Room.leave();
    }

    /** Lets the request wait for long without traffic. */
    void waitsLong() {
        request.addIdleTimeoutListener(expired -> false);
    }
}
