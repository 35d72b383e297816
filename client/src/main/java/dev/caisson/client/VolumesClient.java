package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.ResultFile;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.VolumeJson;
import dev.caisson.v1.VolumeRequest;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Volumes, by id or name, and what is in them: paths begin at the volume's own root and are escaped
 * as {@link dev.caisson.api.SandboxFiles} says.
 */
public final class VolumesClient {
    private final Http http;
    private final FilesClient files;

    VolumesClient(Http http) {
        this.http = http;
        this.files = new FilesClient(http, "volumes");
    }

    /** Makes one. */
    public VolumeJson create(VolumeRequest request) {
        return http.read(Call.create("v1", "volumes").json(request), VolumeJson.class);
    }

    /** Newest first. */
    public Page<VolumeJson> list(Query query) {
        return http.page(query.on(Call.get("v1", "volumes")), VolumeJson.class);
    }

    /** One. */
    public VolumeJson find(String id) {
        return http.read(Call.get("v1", "volumes", id), VolumeJson.class);
    }

    /** Deletes it. */
    public void delete(String id) {
        http.run(Call.delete("v1", "volumes", id));
    }

    /** One file or folder, links not followed. */
    public FileJson stat(String id, String path) {
        return files.stat(id, path);
    }

    /** What is in a folder; {@code /} is the volume's own root. */
    public List<FileJson> list(String id, String path, boolean recursive) {
        return files.list(id, path, recursive);
    }

    /** Copies a regular file; the stream is not closed. Bytes copied. */
    public long read(String id, String path, OutputStream target) {
        return files.read(id, path, target, bytes -> {});
    }

    /**
     * Reads a part of a file.
     *
     * @param length at least 1 byte; negative: to the end
     */
    public long read(String id, String path, long offset, long length, OutputStream target) {
        return files.read(id, path, offset, length, target);
    }

    /** Writes a file whole from a stream, which is read to its end; on the disk then. */
    public FileJson write(String id, String path, InputStream content, @Nullable Integer mode) {
        return files.write(id, path, content, mode);
    }

    /** Removes a file, or a folder with all in it. */
    public void remove(String id, String path, boolean recursive) {
        files.delete(id, path, recursive);
    }

    /** Makes a folder and those above. */
    public void makeDirectory(String id, String path) {
        files.makeDirectory(id, path);
    }

    /** Renames. */
    public void move(String id, String from, String to) {
        files.move(id, from, to);
    }

    /** A folder as a tar archive; the stream is not closed. */
    public long archive(String id, String path, OutputStream target) {
        return files.archive(id, path, target);
    }

    /** Unpacks a tar archive, gzip or not, below a folder. */
    public void unpack(String id, String path, InputStream archive) {
        files.unpack(id, path, archive);
    }

    /**
     * Brings a folder to a folder of the host, as {@link FilesClient#get}.
     *
     * @return everything in it, brought or not
     */
    public List<ResultFile> get(
            String id, String path, Path folder, ByteSize limit, LongConsumer progress) {
        return files.get(id, absolute(path), folder, limit, progress);
    }

    /** Brings a regular file to a file of the host, never through a link; bytes copied. */
    public long get(String id, String path, Path file) {
        return new RemoteFiles(http, files, id).get(absolute(path), file);
    }

    /**
     * Copies a file or folder of the host to that path, or below it when it ends with a slash;
     * links are left out.
     *
     * @return bytes copied
     */
    public long put(String id, Path host, String path, LongConsumer progress) {
        return new RemoteFiles(http, files, id).put(host, absolute(path), progress);
    }

    private static String absolute(String path) {
        return path.startsWith("/") ? path : "/" + path;
    }
}
