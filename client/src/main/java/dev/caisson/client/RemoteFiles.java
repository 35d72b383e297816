package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.ResultFile;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchListener;
import dev.caisson.v1.FileJson;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/** The files of a sandbox of a server. */
final class RemoteFiles implements SandboxFiles {
    private static final int NEW_FILE = 0644;

    private final Http http;
    private final FilesClient files;
    private final String sandbox;
    private final WorkFolder work;

    RemoteFiles(Http http, String sandbox) {
        this(http, new FilesClient(http), sandbox);
    }

    RemoteFiles(Http http, FilesClient files, String sandbox) {
        this.http = http;
        this.files = files;
        this.sandbox = sandbox;
        this.work = new WorkFolder(this);
    }

    @Override
    public void write(String path, byte[] content) {
        files.write(sandbox, path, content, NEW_FILE);
    }

    @Override
    public long write(String path, InputStream content, int mode) {
        Counted counted = new Counted(content, bytes -> {});
        files.write(sandbox, path, counted, mode);
        return counted.bytes();
    }

    @Override
    public long put(Path host, String inside, LongConsumer progress) {
        String target = inside.endsWith("/") ? inside + SandboxFiles.escape(name(host)) : inside;
        if (Files.isDirectory(host)) {
            files.makeDirectory(sandbox, target);
            return files.put(sandbox, host, target, progress);
        }
        if (!Files.isRegularFile(host)) {
            throw CaissonException.invalid(
                    "host", host + " is neither a regular file nor a folder.");
        }
        try (InputStream content = Files.newInputStream(host)) {
            int mode = TarSource.mode(Files.getPosixFilePermissions(host));
            Counted counted = new Counted(content, progress);
            files.write(sandbox, target, counted, mode);
            return counted.bytes();
        } catch (IOException e) {
            throw TarSource.unreadable(host, e);
        }
    }

    private static String name(Path host) {
        Path name = host.toAbsolutePath().normalize().getFileName();
        if (name == null) {
            throw CaissonException.invalid(
                    "host", "The root of the host is not copied into a sandbox.");
        }
        return name.toString();
    }

    @Override
    public byte[] read(String path) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        files.read(
                sandbox,
                path,
                bytes,
                copied -> {
                    if (copied > READ_LIMIT) {
                        throw CaissonException.of(
                                        ErrorCode.TOO_LARGE,
                                        "The file " + path + " has more than 64 MiB.")
                                .withRemedy("Copy it to a stream, or to a file with get.");
                    }
                });
        return bytes.toByteArray();
    }

    @Override
    public long read(String path, long offset, long length, OutputStream target) {
        if (length == 0) {
            return 0;
        }
        return files.read(sandbox, path, offset, length, target);
    }

    @Override
    public long get(String path, Path host) {
        Path absolute = host.toAbsolutePath().normalize();
        Path folder = absolute.getParent();
        Path name = absolute.getFileName();
        if (folder == null || name == null) {
            throw CaissonException.invalid("host", host + " is no place for a file.");
        }
        long[] bytes = new long[1];
        try (HostFolder target = HostFolder.open(folder)) {
            target.file(
                    List.of(name.toString()),
                    NEW_FILE,
                    stream -> bytes[0] = files.read(sandbox, path, stream, copied -> {}));
            return bytes[0];
        } catch (IOException | UncheckedIOException e) {
            throw CaissonException.of(ErrorCode.INVALID, host + " cannot be written: " + e, e);
        }
    }

    @Override
    public List<FileInfo> list(String path) {
        return list(path, false);
    }

    @Override
    public List<FileInfo> listTree(String path) {
        return list(path, true);
    }

    private List<FileInfo> list(String path, boolean recursive) {
        String folder = path.endsWith("/") ? path : path + "/";
        String absolute = folder.startsWith("/") ? folder : "/work/" + folder;
        return files.list(sandbox, path, recursive).stream()
                .map(file -> Results.info(file, below(file, absolute)))
                .toList();
    }

    private static String below(FileJson file, String folder) {
        return file.path().startsWith(folder)
                ? file.path().substring(folder.length())
                : file.path();
    }

    @Override
    public Optional<FileInfo> stat(String path) {
        try {
            FileJson file = files.stat(sandbox, path);
            return Optional.of(Results.info(file, file.path()));
        } catch (CaissonException e) {
            // The sandbox itself may be what is not there.
            if (e.code() == ErrorCode.NOT_FOUND && !"sandbox".equals(e.details().get("noun"))) {
                return Optional.empty();
            }
            throw e;
        }
    }

    @Override
    public void makeDirectory(String path) {
        files.makeDirectory(sandbox, path);
    }

    @Override
    public void remove(String path) {
        files.delete(sandbox, path, false);
    }

    @Override
    public void removeTree(String path) {
        files.delete(sandbox, path, true);
    }

    @Override
    public void move(String from, String to) {
        files.move(sandbox, from, to);
    }

    @Override
    public void setMode(String path, int mode) {
        throw CaissonException.of(
                        ErrorCode.NOT_AVAILABLE,
                        "Servers of this version change no modes of files that are there.")
                .withRemedy("Write the file with its mode, or run chmod inside.");
    }

    @Override
    public Watch watch(String path, boolean recursive, WatchListener listener) {
        return RemoteWatch.open(http, sandbox, files.watching(sandbox, path, recursive), listener);
    }

    @Override
    public void mark() {
        work.mark();
    }

    @Override
    public List<ResultFile> changes() {
        return work.changes().stream().map(WorkFolder::leftOut).toList();
    }

    @Override
    public List<ResultFile> collect(Path target, ByteSize limit) {
        return work.collect(files, sandbox, target, limit);
    }
}
