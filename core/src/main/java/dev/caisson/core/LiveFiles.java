package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.FileInfo;
import dev.caisson.api.FileType;
import dev.caisson.api.ResultFile;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.User;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchListener;
import dev.caisson.wire.agent.FileChange;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FilePut;
import dev.caisson.wire.agent.MakeDirectory;
import dev.caisson.wire.agent.Move;
import dev.caisson.wire.agent.Remove;
import dev.caisson.wire.agent.SetAttributes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;

/** The files of a live sandbox. */
final class LiveFiles implements SandboxFiles {
    static final int MAX_ENTRIES = 100_000;

    private static final ByteString WORK = ByteString.copyFromUtf8("/work");
    private static final long WINDOW = 4 << 20;
    private static final int BUFFER = 256 << 10;

    private final Transfers transfers;
    private final Reporter reporter;
    private final RedactionEvents redactions;
    private volatile Changes baseline = Changes.NONE;

    LiveFiles(Transfers transfers, Reporter reporter) {
        this.transfers = transfers;
        this.reporter = reporter;
        this.redactions = new RedactionEvents(reporter);
    }

    // ---- in

    @Override
    public void write(String path, byte[] content) {
        try (Transfers.Put put = start(path, 0644)) {
            put.write(ByteBuffer.wrap(content));
            written(path, Transfers.join(put.finish()));
        }
    }

    @Override
    public long write(String path, InputStream content, int mode) {
        try (Transfers.Put put = start(path, mode)) {
            byte[] buffer = new byte[BUFFER];
            for (int read = content.read(buffer); read >= 0; read = content.read(buffer)) {
                put.write(ByteBuffer.wrap(buffer, 0, read));
            }
            long bytes = Transfers.join(put.finish());
            written(path, bytes);
            return bytes;
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID, "The content for " + path + " cannot be read: " + e, e);
        }
    }

    private Transfers.Put start(String path, int mode) {
        return transfers.put(filePut(Names.inside(path), mode), "Writing " + path);
    }

    static FilePut filePut(ByteString path, int mode) {
        return FilePut.newBuilder()
                .setPath(path)
                .setMode(mode & 0777)
                .setUid(User.SANDBOX.uid())
                .setGid(User.SANDBOX.gid())
                .setParents(true)
                .build();
    }

    private void written(String path, long bytes) {
        reporter.emit(EventType.FILE_WRITTEN, "", () -> Map.of("path", path, "bytes", bytes));
    }

    @Override
    public long put(Path host, String inside, LongConsumer progress) {
        long bytes = new HostTree(transfers, progress).copy(host, inside);
        written(inside, bytes);
        return bytes;
    }

    // ---- out

    @Override
    public byte[] read(String path) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (Transfers.Get get =
                transfers.get(Names.inside(path), "Reading " + path, READ_LIMIT + 1, WINDOW)) {
            for (ByteString data = get.next(); !data.isEmpty(); data = get.next()) {
                if (bytes.size() + data.size() > READ_LIMIT) {
                    throw CaissonException.of(
                                    ErrorCode.TOO_LARGE,
                                    "The file "
                                            + path
                                            + " is larger than "
                                            + READ_LIMIT
                                            + " bytes.")
                            .withRemedy("Copy it with get, or read it into a stream.")
                            .withDetail("allowed", Long.toString(READ_LIMIT));
                }
                bytes.writeBytes(data.toByteArray());
            }
            redactions.inFile(path, get.redactions());
        }
        wasRead(path, bytes.size());
        return bytes.toByteArray();
    }

    @Override
    public long read(String path, long offset, long length, OutputStream target) {
        if (offset < 0) {
            throw CaissonException.invalid("offset", "An offset is not negative.");
        }
        if (length == 0) {
            return 0;
        }
        try {
            long bytes = copy(path, offset, Math.max(0, length), Channels.newChannel(target));
            wasRead(path, bytes);
            return bytes;
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID, "What was read of " + path + " cannot be written: " + e, e);
        }
    }

    @Override
    public long get(String path, Path host) {
        Path name = host.getFileName();
        Path parent = host.toAbsolutePath().getParent();
        if (name == null || parent == null) {
            throw CaissonException.invalid("host", "The target " + host + " is not a file name.");
        }
        long[] bytes = new long[1];
        try (HostFolder folder = HostFolder.open(parent)) {
            folder.file(name.toString(), 0644, channel -> bytes[0] = copy(path, 0, 0, channel));
        } catch (IOException e) {
            throw CaissonException.of(
                    ErrorCode.INVALID, "The file " + host + " cannot be written: " + e, e);
        }
        wasRead(path, bytes[0]);
        return bytes[0];
    }

    /** At most that many bytes; 0: to the end. */
    private long copy(String path, long offset, long length, WritableByteChannel target)
            throws IOException {
        long bytes = 0;
        try (Transfers.Get get =
                transfers.get(Names.inside(path), "Reading " + path, offset, length, WINDOW)) {
            for (ByteString data = get.next(); !data.isEmpty(); data = get.next()) {
                ByteBuffer buffer = data.asReadOnlyByteBuffer();
                while (buffer.hasRemaining()) {
                    target.write(buffer);
                }
                bytes += data.size();
            }
            redactions.inFile(path, get.redactions());
        }
        return bytes;
    }

    private void wasRead(String path, long bytes) {
        reporter.emit(EventType.FILE_READ, "", () -> Map.of("path", path, "bytes", bytes));
    }

    // ---- listings

    @Override
    public List<FileInfo> list(String path) {
        return infos(path, false);
    }

    @Override
    public List<FileInfo> listTree(String path) {
        return infos(path, true);
    }

    private List<FileInfo> infos(String path, boolean recursive) {
        return listing(Names.inside(path), path, recursive).entries().stream()
                .map(LiveFiles::info)
                .toList();
    }

    private Transfers.Listing listing(ByteString path, String name, boolean recursive) {
        return Transfers.join(transfers.list(path, "Listing " + name, recursive, MAX_ENTRIES));
    }

    @Override
    public Optional<FileInfo> stat(String path) {
        ByteString inside = Names.inside(path);
        try {
            return Transfers.join(transfers.stat(inside, "Looking at " + path)).entries().stream()
                    .findFirst()
                    .map(entry -> info(entry.toBuilder().setPath(inside).build()));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private static FileInfo info(FileEntry entry) {
        FileType type = Wire.type(entry.getType());
        return new FileInfo(
                Names.escape(entry.getPath()),
                type,
                Wire.positive(entry.getSize()),
                Wire.positive(entry.getAllocated()),
                entry.getMode() & 07777,
                instant(entry.getMtimeNanos()),
                type == FileType.SYMLINK
                        ? Optional.of(Names.escape(entry.getTarget()))
                        : Optional.empty());
    }

    private static Instant instant(long unsignedNanos) {
        return Instant.ofEpochSecond(
                Long.divideUnsigned(unsignedNanos, 1_000_000_000L),
                Long.remainderUnsigned(unsignedNanos, 1_000_000_000L));
    }

    // ---- changes

    @Override
    public void makeDirectory(String path) {
        change(
                FileChange.newBuilder().setMakeDirectory(makeDirectory(Names.inside(path), 0755)),
                "Making the folder " + path,
                Map.of("path", path, "change", "makeDirectory"));
    }

    static MakeDirectory makeDirectory(ByteString path, int mode) {
        return MakeDirectory.newBuilder()
                .setPath(path)
                .setMode(mode & 0777)
                .setUid(User.SANDBOX.uid())
                .setGid(User.SANDBOX.gid())
                .setParents(true)
                .build();
    }

    @Override
    public void remove(String path) {
        change(
                FileChange.newBuilder().setRemove(Remove.newBuilder().setPath(Names.inside(path))),
                "Removing " + path,
                Map.of("path", path, "change", "remove"));
    }

    @Override
    public void removeTree(String path) {
        change(
                FileChange.newBuilder()
                        .setRemove(
                                Remove.newBuilder().setPath(Names.inside(path)).setRecursive(true)),
                "Removing " + path,
                Map.of("path", path, "change", "removeTree"));
    }

    @Override
    public void move(String from, String to) {
        change(
                FileChange.newBuilder()
                        .setMove(
                                Move.newBuilder()
                                        .setFrom(Names.inside(from))
                                        .setTo(Names.inside(to))),
                "Moving " + from + " to " + to,
                Map.of("path", from, "to", to, "change", "move"));
    }

    private void change(FileChange.Builder change, String name, Map<String, Object> data) {
        Transfers.join(transfers.change(change.build(), name));
        reporter.emit(EventType.FILE_CHANGED, "", () -> data);
    }

    @Override
    public void setMode(String path, int mode) {
        change(
                FileChange.newBuilder()
                        .setSetAttributes(
                                SetAttributes.newBuilder()
                                        .setPath(Names.inside(path))
                                        .setMode(mode & 0777)),
                "Changing the mode of " + path,
                Map.of("path", path, "change", "setMode"));
    }

    @Override
    public Watch watch(String path, boolean recursive, WatchListener listener) {
        return transfers.watch(Names.inside(path), path, recursive, listener);
    }

    // ---- results

    @Override
    public void mark() {
        Transfers.Listing listing = listing(WORK, "/work", true);
        if (listing.truncated()) {
            throw CaissonException.of(
                            ErrorCode.TOO_LARGE,
                            "/work has more than "
                                    + MAX_ENTRIES
                                    + " files or more than 256 levels: what is new in it"
                                    + " cannot be told.")
                    .withRemedy("Put large trees elsewhere, for instance below /srv.");
        }
        baseline = Changes.baseline(listing.entries());
    }

    @Override
    public List<ResultFile> changes() {
        return collect(null, ByteSize.of(0), false, (bytes, total) -> {});
    }

    @Override
    public List<ResultFile> collect(Path target, ByteSize limit) {
        return collect(target, limit, false, (bytes, total) -> {});
    }

    List<ResultFile> collect(
            @org.jspecify.annotations.Nullable Path target,
            ByteSize limit,
            boolean inline,
            Collector.Progress progress) {
        Transfers.Listing listing = listing(WORK, "/work", true);
        List<FileEntry> changed;
        try {
            changed = baseline.since(listing.entries());
        } catch (ProtocolException e) {
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED,
                    "The agent told impossible files: " + e.getMessage(),
                    e);
        }
        List<ResultFile> results;
        Collector.Asked asked = new Collector.Asked(limit, inline, progress, redactions);
        if (target == null) {
            results = new Collector(transfers, WORK, null, asked).collect(changed);
        } else {
            try (HostFolder folder = HostFolder.open(target)) {
                results = new Collector(transfers, WORK, folder, asked).collect(changed);
            }
        }
        if (listing.truncated()) {
            results.add(
                    new ResultFile(
                            ".",
                            FileType.DIRECTORY,
                            0,
                            Optional.empty(),
                            0,
                            false,
                            Optional.empty(),
                            listing.skipped()
                                    + " more entries, beyond "
                                    + MAX_ENTRIES
                                    + " files or 256 levels, were left out"));
        }
        List<ResultFile> all = List.copyOf(results);
        reporter.emit(
                EventType.FILES_COLLECTED,
                "",
                () ->
                        Map.of(
                                "changed",
                                (long) all.size(),
                                "collected",
                                all.stream().filter(ResultFile::collected).count()));
        return all;
    }
}
