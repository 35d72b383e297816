package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.FileService;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.WatchJson;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Files in sandboxes. */
final class FileRoutes {
    private static final String FILES = "/v1/sandboxes/{sandbox}/files";
    private static final String READ = "files:read";
    private static final String WRITE = "files:write";
    private static final String PATH = "Absolute or below /work; percent signs as %25.";

    private final FileService files;
    private final Streams streams;

    FileRoutes(Deps deps) {
        this.files = deps.control().files();
        this.streams = deps.streams();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>(contents());
        routes.addAll(folders());
        routes.addAll(archives());
        return routes;
    }

    private List<Route> contents() {
        return List.of(
                Route.get(FILES)
                        .scope(READ)
                        .gives(200, Route.Kind.BYTES, null)
                        .also(206)
                        .query("path", PATH)
                        .doc("The bytes of a file, or one Range of them; HEAD for its size.")
                        .does(x -> read(files, x, x.caller(), id(x), x.query.path())),
                Route.put(FILES)
                        .scope(WRITE)
                        .takesBytes()
                        .gives(200, FileJson.class)
                        .query("path", PATH)
                        .query("mode", "Permission bits, decimal.")
                        .doc("Writes a file whole: it is there entirely, or not at all.")
                        .does(x -> write(files, x, x.caller(), id(x), x.query.path())),
                Route.delete(FILES)
                        .scope(WRITE)
                        .gives(204, Route.Kind.NONE, null)
                        .query("path", PATH)
                        .query("recursive", "true: a folder with all in it.")
                        .doc("Removes a file or folder.")
                        .does(this::delete),
                Route.get(FILES + "/stat")
                        .scope(READ)
                        .gives(200, FileJson.class)
                        .query("path", PATH)
                        .doc("What a name is; links are not followed.")
                        .does(x -> Answer.ok(files.stat(x.caller(), id(x), x.query.path()))),
                Route.post(FILES + "/move")
                        .scope(WRITE)
                        .takes(MoveRequest.class)
                        .gives(200, FileJson.class)
                        .doc("Renames.")
                        .does(this::move));
    }

    private List<Route> folders() {
        return List.of(
                Route.get(FILES + "/list")
                        .scope(READ)
                        .gives(200, Route.Kind.ITEMS, FileJson.class)
                        .query("path", PATH)
                        .query("recursive", "true: with all below.")
                        .doc("What is in a folder.")
                        .does(x ->
                                Answer.ok(
                                        new Forms.Items<>(
                                                files.list(
                                                        x.caller(),
                                                        id(x),
                                                        x.query.path(),
                                                        x.query.flag("recursive"))))),
                Route.post(FILES + "/mkdir")
                        .scope(WRITE)
                        .gives(200, FileJson.class)
                        .query("path", PATH)
                        .doc("Makes a folder and those above.")
                        .does(x ->
                                Answer.ok(files.makeDirectory(x.caller(), id(x), x.query.path()))),
                Route.get(FILES + "/watch")
                        .scope(READ)
                        .gives(200, Route.Kind.STREAM, WatchJson.class)
                        .query("path", PATH)
                        .query("recursive", "true: with all below.")
                        .query("after", "Refused: what happened meanwhile is not known.")
                        .doc("What happens in a folder, as it happens; it cannot be resumed.")
                        .does(this::watch));
    }

    private List<Route> archives() {
        return List.of(
                Route.get(FILES + "/archive")
                        .scope(READ)
                        .gives(200, Route.Kind.BYTES, null)
                        .query("path", PATH)
                        .doc("A folder as tar.")
                        .does(this::archive),
                Route.post(FILES + "/archive")
                        .scope(WRITE)
                        .takesBytes()
                        .gives(200, Forms.UnpackJson.class)
                        .query("path", PATH)
                        .doc("Unpacks a tar, gzip or not, below a folder.")
                        .does(this::unpack));
    }

    private static String id(Exchange x) {
        return x.parameter("sandbox");
    }

    static Answer read(FileService files, Exchange x, Caller caller, String sandbox, String path)
            throws IOException {
        FileJson file = files.stat(caller, sandbox, path);
        x.waitsLong();
        if (!file.type().equals("regular")) {
            // What is read through a link, or refused, is the sandbox's to say.
            Downloads.head(x, path, "application/octet-stream");
            files.read(caller, sandbox, path, 0, -1, x.output());
            return new Answer.Sent();
        }
        Optional<Downloads.Part> part = Downloads.range(x, file.size());
        Downloads.Part wanted = part.orElse(new Downloads.Part(0, file.size()));
        Downloads.head(x, path, "application/octet-stream");
        x.response
                .getHeaders()
                .put("Accept-Ranges", "bytes")
                .put("Content-Length", wanted.length());
        if (part.isPresent()) {
            x.response.setStatus(206);
            x.response
                    .getHeaders()
                    .put(
                            "Content-Range",
                            "bytes %d-%d/%d"
                                    .formatted(
                                            wanted.offset(),
                                            wanted.offset() + wanted.length() - 1,
                                            file.size()));
        }
        if (!x.request.getMethod().equals("HEAD") && wanted.length() > 0) {
            ClientOutput target = x.output();
            files.read(caller, sandbox, path, wanted.offset(), wanted.length(), target);
            if (target.bytes() < wanted.length()) {
                throw new IOException("The file became shorter while it was read.");
            }
        }
        return new Answer.Sent();
    }

    static Answer write(FileService files, Exchange x, Caller caller, String sandbox, String path)
            throws IOException {
        long mode = x.query.number("mode", 0, 07777, -1);
        x.waitsLong();
        return Answer.ok(
                files.write(caller, sandbox, path, x.upload(), mode < 0 ? null : (int) mode));
    }

    private Answer delete(Exchange x) {
        files.delete(x.caller(), id(x), x.query.path(), x.query.flag("recursive"));
        return Answer.none();
    }

    private Answer move(Exchange x) throws IOException {
        MoveRequest request = x.json(MoveRequest.class);
        RequestQuery.checkPath("from", request.from());
        RequestQuery.checkPath("to", request.to());
        return Answer.ok(files.move(x.caller(), id(x), request));
    }

    private Answer archive(Exchange x) throws IOException {
        String path = x.query.path();
        if (!files.stat(x.caller(), id(x), path).type().equals("directory")) {
            throw CaissonException.invalid("path", "Only folders come as archives.");
        }
        x.waitsLong();
        Downloads.head(x, path + ".tar", "application/x-tar");
        files.archive(x.caller(), id(x), path, x.output());
        return new Answer.Sent();
    }

    private Answer unpack(Exchange x) throws IOException {
        x.waitsLong();
        return Answer.ok(
                new Forms.UnpackJson(files.unpack(x.caller(), id(x), x.query.path(), x.upload())));
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
