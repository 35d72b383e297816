package dev.caisson.server;

import dev.caisson.control.RunService;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A whole life in one call. */
final class RunRoutes {
    private final RunService runs;
    private final Streams streams;

    RunRoutes(Deps deps) {
        this.runs = deps.control().runs();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        return List.of(
                Route.post("/v1/runs")
                        .scope("runs:write")
                        .takes(RunRequest.class)
                        .large()
                        .gives(200, RunJson.class)
                        .also(202)
                        .query("mode", ExecRoutes.MODES)
                        .creates()
                        .doc("Runs code or a command in a sandbox of its own; durable from 202.")
                        .does(this::start),
                Route.get("/v1/runs")
                        .scope("runs:read")
                        .gives(200, Route.Kind.PAGE, RunJson.class)
                        .query("state", "Only these, with commas between.")
                        .query("label.*", "Only with this label.")
                        .pages()
                        .doc("Runs, newest first.")
                        .does(x -> Answer.ok(runs.list(x.caller(), x.query.listing()))),
                Route.get("/v1/runs/{run}")
                        .scope("runs:read")
                        .gives(200, RunJson.class)
                        .query("waitMillis", ExecRoutes.WAITS)
                        .doc("A run, with its result once it has ended.")
                        .does(this::find),
                Route.get("/v1/runs/{run}/stream")
                        .scope("runs:read")
                        .gives(200, Route.Kind.STREAM, StreamItem.class)
                        .query("after", ExecRoutes.AFTER)
                        .doc("What a run says, from the start or behind an item; exit is last.")
                        .does(x -> follow(x, x.parameter("run"))),
                Route.get("/v1/runs/{run}/files/{path...}")
                        .scope("runs:read")
                        .gives(200, Route.Kind.BYTES, null)
                        .doc("A file that came out of a run.")
                        .does(this::file),
                Route.get("/v1/runs/{run}/archive")
                        .scope("runs:read")
                        .gives(200, Route.Kind.BYTES, null)
                        .as(ContentRoutes.TAR)
                        .doc("All files that came out of a run, as tar.")
                        .does(this::archive),
                Route.delete("/v1/runs/{run}")
                        .scope("runs:write")
                        .gives(200, RunJson.class)
                        .doc("Ends a run, or deletes what is kept of it.")
                        .does(x -> Answer.ok(runs.delete(x.caller(), x.parameter("run")))));
    }

    private Answer start(Exchange x) throws IOException {
        String mode = x.query.choice("mode", "wait", Set.of("wait", "stream", "detach"));
        if (mode.equals("stream")) {
            ItemStream.check(x);
        }
        if (!mode.equals("detach")) {
            streams.lasting(x);
        }
        RunRequest request = x.json(RunRequest.class);
        String replay = x.replay();
        RunJson run =
                replay == null ? runs.start(x.caller(), request) : runs.find(x.caller(), replay);
        x.response.getHeaders().put("Location", "/v1/runs/" + run.id());
        x.started(run, () -> {}); // durable when it was begun
        return switch (mode) {
            case "stream" -> follow(x, run.id());
            case "detach" -> Answer.of(202, run);
            default ->
                    streams.wait(
                            x,
                            longest -> runs.await(x.caller(), run.id(), longest),
                            () -> runs.find(x.caller(), run.id()));
        };
    }

    private Answer follow(Exchange x, String id) throws IOException {
        String after = ExecRoutes.after(x);
        runs.find(x.caller(), id);
        return streams.stream(
                x,
                true,
                stream -> runs.follow(x.caller(), id, after, item -> stream.send(item.id(), item)));
    }

    private Answer find(Exchange x) {
        String id = x.parameter("run");
        long millis = x.query.number("waitMillis", 0, x.limits.longestWait().toMillis(), 0);
        Optional<RunJson> ended =
                millis == 0
                        ? Optional.empty()
                        : streams.await(
                                x,
                                Duration.ofMillis(millis),
                                longest -> runs.await(x.caller(), id, longest));
        return Answer.ok(ended.orElseGet(() -> runs.find(x.caller(), id)));
    }

    private Answer file(Exchange x) throws IOException {
        String path = x.parameter("path");
        try (InputStream content = runs.open(x.caller(), x.parameter("run"), path)) {
            Downloads.head(x, path, "application/octet-stream");
            OutputStream target = x.output();
            content.transferTo(target);
        }
        return new Answer.Sent();
    }

    private Answer archive(Exchange x) throws IOException {
        String id = x.parameter("run");
        runs.find(x.caller(), id);
        Downloads.head(x, id + ".tar", ContentRoutes.TAR);
        runs.archive(x.caller(), id, x.output());
        return new Answer.Sent();
    }
}
