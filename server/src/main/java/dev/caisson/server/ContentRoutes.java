package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.ContentService;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Files in what has files: the same routes below a sandbox and a volume. */
final class ContentRoutes {
    static final String TAR = "application/x-tar";

    private final ContentService files;
    private final Streams streams;
    private final String base;
    private final String parameter;
    private final String noun;
    private final String where;

    /**
     * Routes of files that something has.
     *
     * @param streams where transfers have their places
     * @param owner path of what has the files, with its one parameter
     * @param parameter its name
     * @param noun of the scopes
     * @param where what paths are, for people
     */
    ContentRoutes(
            ContentService files,
            Streams streams,
            String owner,
            String parameter,
            String noun,
            String where) {
        this.files = files;
        this.streams = streams;
        this.base = owner + "/files";
        this.parameter = parameter;
        this.noun = noun;
        this.where = where;
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>(contents());
        routes.addAll(folders());
        routes.addAll(archives());
        return routes;
    }

    private List<Route> contents() {
        return List.of(
                Route.get(base)
                        .scope(noun + ":read")
                        .gives(200, Route.Kind.BYTES, null)
                        .also(206)
                        .query("path", where)
                        .doc("The bytes of a file, or one Range of them; HEAD for its size.")
                        .does(x -> {
                            streams.lasting(x);
                            return read(files, x, x.caller(), id(x), x.query.path());
                        }),
                Route.put(base)
                        .scope(noun + ":write")
                        .takesBytes()
                        .gives(200, FileJson.class)
                        .query("path", where)
                        .query("mode", "Permission bits, decimal.")
                        .doc("Writes a file whole: it is there entirely, or not at all.")
                        .does(x -> {
                            streams.lasting(x);
                            return write(files, x, x.caller(), id(x), x.query.path());
                        }),
                Route.delete(base)
                        .scope(noun + ":write")
                        .gives(204, Route.Kind.NONE, null)
                        .query("path", where)
                        .query("recursive", "true: a folder with all in it.")
                        .doc("Removes a file or folder.")
                        .does(this::delete),
                Route.get(base + "/stat")
                        .scope(noun + ":read")
                        .gives(200, FileJson.class)
                        .query("path", where)
                        .doc("What a name is; links are not followed.")
                        .does(x -> Answer.ok(files.stat(x.caller(), id(x), x.query.path()))),
                Route.post(base + "/move")
                        .scope(noun + ":write")
                        .takes(MoveRequest.class)
                        .gives(200, FileJson.class)
                        .doc("Renames.")
                        .does(this::move));
    }

    private List<Route> folders() {
        return List.of(
                Route.get(base + "/list")
                        .scope(noun + ":read")
                        .gives(200, Route.Kind.ITEMS, FileJson.class)
                        .query("path", where)
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
                Route.post(base + "/mkdir")
                        .scope(noun + ":write")
                        .gives(200, FileJson.class)
                        .query("path", where)
                        .doc("Makes a folder and those above.")
                        .does(x ->
                                Answer.ok(files.makeDirectory(x.caller(), id(x), x.query.path()))));
    }

    private List<Route> archives() {
        return List.of(
                Route.get(base + "/archive")
                        .scope(noun + ":read")
                        .gives(200, Route.Kind.BYTES, null)
                        .as(TAR)
                        .query("path", where)
                        .doc("A folder as tar.")
                        .does(this::archive),
                Route.post(base + "/archive")
                        .scope(noun + ":write")
                        .takesBytes()
                        .gives(200, Forms.UnpackJson.class)
                        .query("path", where)
                        .doc("Unpacks a tar, gzip or not, below a folder.")
                        .does(this::unpack));
    }

    private String id(Exchange x) {
        return x.parameter(parameter);
    }

    static Answer read(ContentService files, Exchange x, Caller caller, String of, String path)
            throws IOException {
        FileJson file = files.stat(caller, of, path);
        x.waitsLong();
        if (!file.type().equals("regular")) {
            // What is read through a link, or refused, is the sandbox's to say.
            Downloads.head(x, path, "application/octet-stream");
            files.read(caller, of, path, 0, -1, x.output());
            return new Answer.Sent();
        }
        if (!files.sized(caller, of)) {
            return whole(files, x, caller, of, path);
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
            files.read(caller, of, path, wanted.offset(), wanted.length(), target);
            if (target.bytes() < wanted.length()) {
                throw new IOException("The file became shorter while it was read.");
            }
        }
        return new Answer.Sent();
    }

    /** Of which nobody knows how long it will be: no part of it is asked for (RFC 9110, 14.2). */
    private static Answer whole(
            ContentService files, Exchange x, Caller caller, String of, String path)
            throws IOException {
        Downloads.head(x, path, "application/octet-stream");
        x.response.getHeaders().put("Accept-Ranges", "none");
        if (!x.request.getMethod().equals("HEAD")) {
            files.read(caller, of, path, 0, -1, x.output());
        }
        return new Answer.Sent();
    }

    static Answer write(ContentService files, Exchange x, Caller caller, String of, String path)
            throws IOException {
        long mode = x.query.number("mode", 0, 07777, -1);
        x.waitsLong();
        return Answer.ok(files.write(caller, of, path, x.upload(), mode < 0 ? null : (int) mode));
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
        streams.lasting(x);
        x.waitsLong();
        Downloads.head(x, path + ".tar", TAR);
        files.archive(x.caller(), id(x), path, x.output());
        return new Answer.Sent();
    }

    private Answer unpack(Exchange x) throws IOException {
        streams.lasting(x);
        x.waitsLong();
        return Answer.ok(
                new Forms.UnpackJson(files.unpack(x.caller(), id(x), x.query.path(), x.upload())));
    }
}
