package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.FileService;
import dev.caisson.v1.WatchJson;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Files in sandboxes. */
final class FileRoutes {
    private static final String SANDBOX = "/v1/sandboxes/{sandbox}";
    private static final String PATH = "Absolute or below /work; percent signs as %25.";

    private final FileService files;
    private final Streams streams;

    FileRoutes(Deps deps) {
        this.files = deps.control().files();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        List<Route> routes =
                new ArrayList<>(
                        new ContentRoutes(files, streams, SANDBOX, "sandbox", "files", PATH)
                                .routes());
        routes.add(
                Route.get(SANDBOX + "/files/watch")
                        .scope("files:read")
                        .gives(200, Route.Kind.STREAM, WatchJson.class)
                        .query("path", PATH)
                        .query("recursive", "true: with all below.")
                        .query("after", "Refused: what happened meanwhile is not known.")
                        .doc("What happens in a folder, as it happens; it cannot be resumed.")
                        .does(this::watch));
        return routes;
    }

    private static String id(Exchange x) {
        return x.parameter("sandbox");
    }

    private Answer watch(Exchange x) throws IOException {
        String path = x.query.path();
        boolean recursive = x.query.flag("recursive");
        if (x.query.text("after").isPresent()) {
            throw CaissonException.invalid(
                            "after",
                            "A watch cannot be resumed: what happened meanwhile is not known.")
                    .withRemedy("Watch again without it, and read the folder after 'ready'.");
        }
        boolean again = x.header("Last-Event-ID").isPresent();
        return streams.stream(
                x,
                false,
                stream ->
                        files.watch(
                                x.caller(),
                                id(x),
                                path,
                                recursive,
                                event -> tell(stream, event, again)));
    }

    /** Who comes back with the id of an item has missed what happened meanwhile. */
    private static void tell(ItemStream stream, WatchJson event, boolean again) throws IOException {
        stream.send(event.id(), event);
        if (again && event.type().equals("ready")) {
            stream.send(
                    event.id(), new WatchJson(event.id(), event.time(), "overflow", null, null));
        }
    }
}
