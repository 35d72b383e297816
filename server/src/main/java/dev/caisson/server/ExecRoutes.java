package dev.caisson.server;

import dev.caisson.control.ExecService;
import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Commands in sandboxes. */
final class ExecRoutes {
    static final String MODES =
            "wait (default): 200 with the result; stream: a stream; detach: 202 at once.";
    static final String WAITS = "Waits up to that for the end.";
    static final String AFTER = "Id of the last item that was seen; or header Last-Event-ID.";

    private final ExecService execs;
    private final Streams streams;

    ExecRoutes(Deps deps) {
        this.execs = deps.control().execs();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        return List.of(
                Route.post("/v1/sandboxes/{sandbox}/execs")
                        .scope("execs:write")
                        .takes(ExecRequest.class)
                        .gives(200, ExecJson.class)
                        .also(202)
                        .query("mode", MODES)
                        .creates()
                        .doc("Starts a command, which lives on when its client goes.")
                        .does(this::start),
                Route.get("/v1/sandboxes/{sandbox}/execs")
                        .scope("execs:read")
                        .gives(200, Route.Kind.PAGE, ExecJson.class)
                        .query("state", "Only these, with commas between.")
                        .pages()
                        .doc("Commands of a sandbox, newest first.")
                        .does(x ->
                                Answer.ok(
                                        execs.list(
                                                x.caller(),
                                                x.parameter("sandbox"),
                                                x.query.listing()))),
                Route.get("/v1/execs/{exec}")
                        .scope("execs:read")
                        .gives(200, ExecJson.class)
                        .query("waitMillis", WAITS)
                        .doc("A command, with its result once it has ended.")
                        .does(this::find),
                Route.get("/v1/execs/{exec}/stream")
                        .scope("execs:read")
                        .gives(200, Route.Kind.STREAM, StreamItem.class)
                        .query("after", AFTER)
                        .doc("What a command says, from the start or behind an item; exit is last.")
                        .does(x -> follow(x, x.parameter("exec"))),
                Route.post("/v1/execs/{exec}/stdin")
                        .scope("execs:write")
                        .takesBytes()
                        .gives(204, Route.Kind.NONE, null)
                        .query("eof", "true: end of file behind these bytes.")
                        .doc("Bytes for standard input; answers when they are taken.")
                        .does(this::input),
                Route.post("/v1/execs/{exec}/signal")
                        .scope("execs:write")
                        .takes(Forms.SignalRequest.class)
                        .gives(204, Route.Kind.NONE, null)
                        .doc("A signal for the main process, or for all of it.")
                        .does(this::signal),
                Route.post("/v1/execs/{exec}/kill")
                        .scope("execs:write")
                        .gives(200, ExecJson.class)
                        .doc("Kills all of a command.")
                        .does(x -> Answer.ok(execs.kill(x.caller(), x.parameter("exec")))),
                Route.post("/v1/execs/{exec}/resize")
                        .scope("execs:write")
                        .takes(PtyJson.class)
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Another size for its terminal.")
                        .does(this::resize));
    }

    private Answer start(Exchange x) throws IOException {
        String mode = x.query.choice("mode", "wait", Set.of("wait", "stream", "detach"));
        if (mode.equals("stream")) {
            ItemStream.check(x);
        }
        if (!mode.equals("detach")) {
            streams.lasting(x);
        }
        ExecRequest request = x.json(ExecRequest.class);
        String replay = x.replay();
        ExecJson exec =
                replay == null
                        ? execs.start(x.caller(), x.parameter("sandbox"), request)
                        : execs.find(x.caller(), replay);
        x.response.getHeaders().put("Location", "/v1/execs/" + exec.id());
        x.started(exec, () -> execs.settle(x.caller(), exec.id()));
        return switch (mode) {
            case "stream" -> follow(x, exec.id());
            case "detach" -> {
                execs.settle(x.caller(), exec.id());
                yield Answer.of(202, exec);
            }
            default ->
                    streams.wait(
                            x,
                            longest -> execs.await(x.caller(), exec.id(), longest),
                            () -> execs.find(x.caller(), exec.id()));
        };
    }

    private Answer follow(Exchange x, String id) throws IOException {
        String after = after(x);
        execs.find(x.caller(), id);
        return streams.stream(
                x,
                true,
                stream ->
                        execs.follow(x.caller(), id, after, item -> stream.send(item.id(), item)));
    }

    static @Nullable String after(Exchange x) {
        return x.query.text("after").or(() -> x.header("Last-Event-ID")).orElse(null);
    }

    private Answer find(Exchange x) {
        String id = x.parameter("exec");
        long millis = x.query.number("waitMillis", 0, x.limits.longestWait().toMillis(), 0);
        Optional<ExecJson> ended =
                millis == 0
                        ? Optional.empty()
                        : streams.await(
                                x,
                                Duration.ofMillis(millis),
                                longest -> execs.await(x.caller(), id, longest));
        return Answer.ok(ended.orElseGet(() -> execs.find(x.caller(), id)));
    }

    private Answer input(Exchange x) throws IOException {
        x.waitsLong();
        execs.input(x.caller(), x.parameter("exec"), x.upload(), x.query.flag("eof"));
        return Answer.none();
    }

    private Answer signal(Exchange x) throws IOException {
        Forms.SignalRequest request = x.json(Forms.SignalRequest.class);
        if (request.signal() < 1 || request.signal() > 64) {
            throw dev.caisson.api.CaissonException.invalid(
                    "signal", "A signal is a number from 1 to 64.");
        }
        execs.signal(
                x.caller(),
                x.parameter("exec"),
                request.signal(),
                Boolean.TRUE.equals(request.whole()));
        return Answer.none();
    }

    private Answer resize(Exchange x) throws IOException {
        execs.resize(x.caller(), x.parameter("exec"), x.json(PtyJson.class));
        return Answer.none();
    }
}
