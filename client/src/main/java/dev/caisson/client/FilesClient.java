package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ResultFile;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.LinkJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.WatchJson;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Files in sandboxes. Paths are absolute or below /work, and escaped as {@link
 * dev.caisson.api.SandboxFiles} says.
 */
public final class FilesClient {
    private final Http http;
    private final String noun;

    FilesClient(Http http) {
        this(http, "sandboxes");
    }

    /** Of another noun that has the same routes. */
    FilesClient(Http http, String noun) {
        this.http = http;
        this.noun = noun;
    }

    private static Call call(Call call, String path) {
        return call.query("path", path);
    }

    private String[] files(String sandbox, String... more) {
        String[] segments = new String[4 + more.length];
        System.arraycopy(new String[] {"v1", noun, sandbox, "files"}, 0, segments, 0, 4);
        System.arraycopy(more, 0, segments, 4, more.length);
        return segments;
    }

    /** One file or folder, links not followed. */
    public FileJson stat(String sandbox, String path) {
        return http.read(call(Call.get(files(sandbox, "stat")), path), FileJson.class);
    }

    /** What is in a folder. */
    public List<FileJson> list(String sandbox, String path, boolean recursive) {
        return http.items(
                call(Call.get(files(sandbox, "list")), path).query("recursive", recursive),
                FileJson.class);
    }

    /**
     * Copies a regular file; the stream is not closed.
     *
     * @param progress told the bytes copied so far
     * @return bytes copied
     */
    public long read(String sandbox, String path, OutputStream target, LongConsumer progress) {
        return Downloads.copy(http, call(Call.get(files(sandbox)), path), target, progress);
    }

    /**
     * Reads a part of a file.
     *
     * @param length at least 1 byte; negative: to the end
     */
    public long read(String sandbox, String path, long offset, long length, OutputStream target) {
        Call call = call(Call.get(files(sandbox)), path);
        if (offset > 0 || length >= 0) {
            String last = length < 0 ? "" : Long.toString(offset + length - 1);
            call.header("Range", "bytes=" + offset + "-" + last);
        }
        return Downloads.copy(http, call, target);
    }

    /** Writes a file whole; null: the mode that new files have. */
    public FileJson write(String sandbox, String path, byte[] content, @Nullable Integer mode) {
        return http.read(
                call(Call.put(files(sandbox)), path)
                        .query("mode", mode)
                        .bytes(content, 0, content.length),
                FileJson.class);
    }

    /** Writes a file whole from a stream, which is read to its end and not closed. */
    public FileJson write(
            String sandbox, String path, InputStream content, @Nullable Integer mode) {
        return http.read(
                call(Call.put(files(sandbox)), path).query("mode", mode).stream(
                        content, "application/octet-stream"),
                FileJson.class);
    }

    /** Removes a file, or a folder with all in it. */
    public void delete(String sandbox, String path, boolean recursive) {
        http.run(call(Call.delete(files(sandbox)), path).query("recursive", recursive));
    }

    /** Makes a folder and those above. */
    public void makeDirectory(String sandbox, String path) {
        http.run(
                call(Call.post(files(sandbox, "mkdir")), path)
                        .again(Call.Again.ALWAYS)
                        .json(Map.of()));
    }

    /** Renames. */
    public void move(String sandbox, String from, String to) {
        http.run(Call.post(files(sandbox, "move")).json(new MoveRequest(from, to)));
    }

    /** A folder as a tar archive; the stream is not closed. */
    public long archive(String sandbox, String path, OutputStream target) {
        return Downloads.copy(http, call(Call.get(files(sandbox, "archive")), path), target);
    }

    /** Unpacks a tar archive, gzip or not, below a folder inside. */
    public void unpack(String sandbox, String path, InputStream archive) {
        http.run(
                call(Call.post(files(sandbox, "archive")), path).stream(
                        archive, "application/x-tar"));
    }

    /**
     * Brings a folder to a folder of the host, which is made when missing. The archive is hostile:
     * only regular files and folders are made, beneath that folder, never through a link, without
     * set-id bits.
     *
     * @param limit bytes of all files together; what is beyond is listed with a note
     * @param progress told the bytes copied so far
     * @return everything in it, brought or not
     */
    public List<ResultFile> get(
            String sandbox, String path, Path folder, ByteSize limit, LongConsumer progress) {
        // Archives hold files and folders only: what else is there is known from a listing.
        List<ResultFile> all =
                new ArrayList<>(
                        new RemoteFiles(http, this, sandbox)
                                .listTree(path).stream()
                                        .filter(file -> !WorkFolder.note(file.type()).isEmpty())
                                        .map(WorkFolder::leftOut)
                                        .toList());
        all.addAll(
                Landing.unpack(
                        http,
                        call(Call.get(files(sandbox, "archive")), path),
                        folder,
                        limit,
                        progress));
        return List.copyOf(all);
    }

    /**
     * Copies a folder of the host to a folder inside; links are left out, modes are kept without
     * set-id bits.
     *
     * @return bytes of its files
     */
    public long put(String sandbox, Path folder, String path, LongConsumer progress) {
        try (TarSource tar = TarSource.of(folder, progress)) {
            unpack(sandbox, path, tar);
            return tar.bytes();
        }
    }

    /**
     * Tells what happens in a folder, from {@code ready} on, until the listener says that it has
     * enough; blocks.
     *
     * @param broken told when the connection broke: events may be missing
     */
    public void watch(
            String sandbox,
            String path,
            boolean recursive,
            Predicate<WatchJson> enough,
            Runnable broken) {
        watching(sandbox, path, recursive).run(enough::test, broken);
    }

    Follow<WatchJson> watching(String sandbox, String path, boolean recursive) {
        return new Follow<>(
                http,
                after ->
                        call(Call.get(files(sandbox, "watch")), path).query("recursive", recursive),
                WatchJson.class,
                item -> null,
                Follow.End.NEVER);
    }

    /**
     * A signed link that expires.
     *
     * @param method {@code GET} or {@code PUT}
     */
    public LinkJson link(String sandbox, String path, String method, long expiresInMillis) {
        return http.read(
                Call.post(files(sandbox, "links"))
                        .json(
                                Map.of(
                                        "path",
                                        path,
                                        "method",
                                        method,
                                        "expiresInMillis",
                                        expiresInMillis)),
                LinkJson.class);
    }
}
