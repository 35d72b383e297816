package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Control;
import dev.caisson.control.Listing;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** What happened, who is told, and what waits for a person. */
final class EventRoutes {
    private final Control control;
    private final Streams streams;

    EventRoutes(Deps deps) {
        this.control = deps.control();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>();
        routes.add(
                Route.get("/v1/events")
                        .scope("events:read")
                        .gives(200, Route.Kind.ITEMS, EventJson.class)
                        .query("after", "seq of the last event that was seen; default 0.")
                        .query("limit", "1 to 200; default 50.")
                        .query("sandbox", "Only of that one.")
                        .query("type", "Only this type (exec.ended), or all of this noun (exec).")
                        .query("follow", "true: a stream that goes on.")
                        .doc("Events of the tenant, oldest first.")
                        .does(this::events));
        routes.addAll(webhooks());
        routes.addAll(approvals());
        return routes;
    }

    private Answer events(Exchange x) throws IOException {
        long after = x.query.number("after", 0, Long.MAX_VALUE, lastEvent(x));
        int limit = (int) x.query.number("limit", 1, 200, 50);
        String sandbox = x.query.orNull("sandbox");
        String type = x.query.orNull("type");
        if (!x.query.flag("follow")) {
            return Answer.ok(
                    new Forms.Items<>(
                            control.events().list(x.caller(), after, limit, sandbox, type)));
        }
        control.events().list(x.caller(), after, 1, sandbox, type);
        return streams.stream(
                x,
                true,
                stream ->
                        control.events()
                                .follow(
                                        x.caller(),
                                        after,
                                        sandbox,
                                        type,
                                        event -> send(stream, event)));
    }

    private static long lastEvent(Exchange x) {
        String id = x.header("Last-Event-ID").orElse("0");
        if (!id.matches("[0-9]{1,18}")) {
            throw CaissonException.invalid("Last-Event-ID", "It must be the seq of an event.");
        }
        return Long.parseLong(id);
    }

    /** Quiet times are told by the stream itself. */
    private static void send(ItemStream stream, @Nullable EventJson event) throws IOException {
        if (event != null) {
            stream.send(Long.toString(event.seq()), event);
        }
    }

    private List<Route> webhooks() {
        return List.of(
                Route.get("/v1/webhooks")
                        .scope("webhooks:read")
                        .gives(200, Route.Kind.PAGE, WebhookJson.class)
                        .query("state", "Only these, with commas between.")
                        .pages()
                        .doc("All webhooks, newest first.")
                        .does(x ->
                                Answer.ok(control.webhooks().list(x.caller(), x.query.listing()))),
                Route.post("/v1/webhooks")
                        .scope("webhooks:write")
                        .takes(WebhookRequest.class)
                        .gives(201, WebhookJson.class)
                        .creates()
                        .secret(WebhookJson.class, EventRoutes::withoutSecret)
                        .doc("Makes a webhook; its secret is told once, here.")
                        .does(x ->
                                Answer.of(
                                        201,
                                        control.webhooks()
                                                .create(x.caller(), x.json(WebhookRequest.class)))),
                Route.get("/v1/webhooks/{webhook}")
                        .scope("webhooks:read")
                        .gives(200, WebhookJson.class)
                        .doc("A webhook.")
                        .does(x -> Answer.ok(control.webhooks().find(x.caller(), webhook(x)))),
                Route.delete("/v1/webhooks/{webhook}")
                        .scope("webhooks:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a webhook.")
                        .does(x -> {
                            control.webhooks().delete(x.caller(), webhook(x));
                            return Answer.none();
                        }),
                Route.get("/v1/webhooks/{webhook}/dead-letters")
                        .scope("webhooks:read")
                        .gives(200, Route.Kind.ITEMS, EventJson.class)
                        .doc("Events whose delivery was given up.")
                        .does(x ->
                                Answer.ok(
                                        new Forms.Items<>(
                                                control.webhooks()
                                                        .deadLetters(x.caller(), webhook(x))))),
                Route.post("/v1/webhooks/{webhook}/replay")
                        .scope("webhooks:write")
                        .takes(Forms.ReplayRequest.class)
                        .gives(200, WebhookJson.class)
                        .doc("Delivers again from behind an event.")
                        .does(this::replay));
    }

    private static String webhook(Exchange x) {
        return x.parameter("webhook");
    }

    private Answer replay(Exchange x) throws IOException {
        long after = x.json(Forms.ReplayRequest.class).afterSeq();
        return Answer.ok(control.webhooks().replay(x.caller(), webhook(x), after));
    }

    private static WebhookJson withoutSecret(WebhookJson hook) {
        return new WebhookJson(
                hook.id(),
                hook.tenant(),
                hook.url(),
                hook.types(),
                hook.state(),
                hook.cursor(),
                hook.deadLetters(),
                hook.lastError(),
                hook.createdAt(),
                null);
    }

    private List<Route> approvals() {
        return List.of(
                Route.get("/v1/approvals")
                        .scope("approvals:read")
                        .gives(200, Route.Kind.PAGE, ApprovalJson.class)
                        .query("state", "Only these, with commas between.")
                        .query(
                                "follow",
                                "true: a stream of all that wait and what becomes of them; each has"
                                        + " also a time and the type approval.")
                        .pages()
                        .doc("Requests that wait for a person, newest first.")
                        .does(this::listApprovals),
                Route.get("/v1/approvals/{approval}")
                        .scope("approvals:read")
                        .gives(200, ApprovalJson.class)
                        .doc("An approval.")
                        .does(x ->
                                Answer.ok(
                                        control.approvals()
                                                .find(x.caller(), x.parameter("approval")))),
                Route.post("/v1/approvals/{approval}/decide")
                        .scope("approvals:write")
                        .takes(DecisionRequest.class)
                        .gives(200, ApprovalJson.class)
                        .doc(
                                "Decides; never by the key that asked, one that it made or rotated,"
                                        + " or one that such a key has.")
                        .does(this::decide));
    }

    private Answer decide(Exchange x) throws IOException {
        DecisionRequest decision = x.json(DecisionRequest.class);
        return Answer.ok(control.approvals().decide(x.caller(), x.parameter("approval"), decision));
    }

    private Answer listApprovals(Exchange x) throws IOException {
        Listing listing = x.query.listing();
        if (!x.query.flag("follow")) {
            return Answer.ok(control.approvals().list(x.caller(), listing));
        }
        return streams.stream(x, false, stream -> followApprovals(x, listing, stream));
    }

    /** An approval as an item of a stream: with the time of its last change and a type. */
    private static ObjectNode item(ApprovalJson approval) {
        ObjectNode item = Json.LENIENT.valueToTree(approval);
        Instant decided = approval.decidedAt();
        Instant time = decided == null ? approval.createdAt() : decided;
        return item.put("time", time.toString()).put("type", "approval");
    }

    /** Looks again each second: approvals are few, and a person is slower than that. */
    private void followApprovals(Exchange x, Listing listing, ItemStream stream)
            throws IOException {
        ApprovalFollow follow = new ApprovalFollow(control.approvals(), x.caller(), listing);
        while (!Thread.currentThread().isInterrupted() && !streams.draining()) {
            List<ApprovalJson> news = follow.news();
            stream.begin();
            for (ApprovalJson approval : news) {
                stream.send(approval.id(), item(approval));
            }
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
        }
        if (!streams.draining()) {
            throw new InterruptedIOException("The stream was ended.");
        }
    }
}
