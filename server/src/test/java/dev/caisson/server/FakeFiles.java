package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.FileService;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.WatchJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Files in memory; one appears only when it came whole. */
final class FakeFiles implements FileService {
    final Map<String, byte[]> contents = new ConcurrentHashMap<>();
    final AtomicInteger broken = new AtomicInteger();
    volatile boolean redacted;

    private byte[] content(String path) {
        byte[] content = contents.get(path);
        if (content == null) {
            throw CaissonException.of(ErrorCode.NOT_FOUND, "There is no " + path + ".");
        }
        return content;
    }

    @Override
    public FileJson stat(Caller caller, String sandbox, String path) {
        if (path.equals("/work")) {
            return json(path, "directory", 0);
        }
        return json(path, "regular", content(path).length);
    }

    private static FileJson json(String path, String type, long size) {
        return new FileJson(
                path,
                path.substring(path.lastIndexOf('/') + 1),
                type,
                size,
                0644,
                Instant.EPOCH,
                null);
    }

    @Override
    public List<FileJson> list(Caller caller, String sandbox, String path, boolean recursive) {
        return contents.keySet().stream().map(name -> json(name, "regular", 1)).toList();
    }

    @Override
    public void read(
            Caller caller,
            String sandbox,
            String path,
            long offset,
            long length,
            OutputStream target)
            throws IOException {
        byte[] content = content(path);
        int end = length < 0 ? content.length : (int) Math.min(content.length, offset + length);
        target.write(Arrays.copyOfRange(content, (int) offset, end));
    }

    @Override
    public boolean sized(Caller caller, String sandbox) {
        return !redacted;
    }

    @Override
    public FileJson write(
            Caller caller, String sandbox, String path, InputStream content, @Nullable Integer mode)
            throws IOException {
        try {
            contents.put(path, content.readAllBytes());
        } catch (IOException | RuntimeException e) {
            broken.incrementAndGet();
            throw e;
        }
        return stat(caller, sandbox, path);
    }

    @Override
    public FileJson makeDirectory(Caller caller, String sandbox, String path) {
        return json(path, "directory", 0);
    }

    @Override
    public void delete(Caller caller, String sandbox, String path, boolean recursive) {
        content(path);
        contents.remove(path);
    }

    @Override
    public FileJson move(Caller caller, String sandbox, MoveRequest request) {
        contents.put(request.to(), content(request.from()));
        contents.remove(request.from());
        return stat(caller, sandbox, request.to());
    }

    @Override
    public void archive(Caller caller, String sandbox, String path, OutputStream target)
            throws IOException {
        target.write(new byte[1024]);
    }

    @Override
    public long unpack(Caller caller, String sandbox, String path, InputStream archive)
            throws IOException {
        return archive.readAllBytes().length;
    }

    @Override
    public void watch(Caller caller, String sandbox, String path, boolean recursive, WatchSink sink)
            throws IOException {
        sink.accept(new WatchJson("1", Instant.EPOCH, "ready", null, null));
        sink.accept(new WatchJson("2", Instant.EPOCH, "created", "a", "regular"));
    }
}
