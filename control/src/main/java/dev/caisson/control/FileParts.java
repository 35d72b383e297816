package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.FileInfo;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchEvent;
import dev.caisson.api.WatchListener;
import dev.caisson.core.Room;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import dev.caisson.v1.WatchJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Files in sandboxes. Thread-safe. */
final class FileParts implements FileService {
    private static final int DEFAULT_MODE = 0644;
    private static final int WATCH_QUEUE = 1024;
    private static final long KEEPALIVE_SECONDS = 15;

    private final Parts parts;
    private final Uses uses;

    FileParts(Parts parts, Uses uses) {
        this.parts = parts;
        this.uses = uses;
    }

    private interface Action<T> {
        T run(SandboxFiles files, String path) throws IOException;
    }

    private <T> T within(Caller caller, String scope, String sandbox, String path, Action<T> action)
            throws IOException {
        Access.require(caller, scope);
        String absolute = Paths.absolute(path);
        try (Uses.Use use = uses.of(caller, sandbox)) {
            return action.run(use.box().hosted().files(), absolute);
        }
    }

    private <T> T quietly(
            Caller caller, String scope, String sandbox, String path, Action<T> action) {
        try {
            return within(caller, scope, sandbox, path, action);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INTERNAL, "Nothing is written here.", e);
        }
    }

    static FileJson stat(SandboxFiles files, String path) {
        FileInfo info =
                files.stat(path)
                        .orElseThrow(() ->
                                CaissonException.of(
                                        ErrorCode.NOT_FOUND,
                                        "There is no '" + Boxes.shown(path) + "'."));
        return Forms.file(path, info);
    }

    @Override
    public FileJson stat(Caller caller, String sandbox, String path) {
        return quietly(caller, "files:read", sandbox, path, FileParts::stat);
    }

    @Override
    public List<FileJson> list(Caller caller, String sandbox, String path, boolean recursive) {
        return quietly(
                caller, "files:read", sandbox, path, (files, at) -> list(files, at, recursive));
    }

    static List<FileJson> list(SandboxFiles files, String at, boolean recursive) {
        return room(at, recursive ? files.listTree(at) : files.list(at)).stream()
                .map(info -> Forms.file(Paths.below(at, info.path()), info))
                .sorted(java.util.Comparator.comparing(FileJson::path))
                .toList();
    }

    /** Each path of the answer begins with that of the folder. */
    private static List<FileInfo> room(String folder, List<FileInfo> entries) {
        Room.need(3L * folder.length() * entries.size());
        return entries;
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
        within(
                caller,
                "files:read",
                sandbox,
                path,
                (files, at) -> files.read(at, offset, length, target));
    }

    @Override
    public boolean sized(Caller caller, String sandbox) {
        Access.require(caller, "files:read");
        try (Uses.Use use = uses.of(caller, sandbox)) {
            return sized(use.box());
        }
    }

    private static boolean sized(Box box) {
        return box.hosted().redaction().current().isEmpty();
    }

    @Override
    public FileJson write(
            Caller caller, String sandbox, String path, InputStream content, @Nullable Integer mode)
            throws IOException {
        return within(
                caller,
                "files:write",
                sandbox,
                path,
                (files, at) -> write(files, at, content, mode));
    }

    static FileJson write(
            SandboxFiles files, String at, InputStream content, @Nullable Integer mode) {
        files.write(at, content, mode == null ? DEFAULT_MODE : mode & 0777);
        return stat(files, at);
    }

    @Override
    public FileJson makeDirectory(Caller caller, String sandbox, String path) {
        return quietly(
                caller,
                "files:write",
                sandbox,
                path,
                (files, at) -> {
                    files.makeDirectory(at);
                    return stat(files, at);
                });
    }

    @Override
    public void delete(Caller caller, String sandbox, String path, boolean recursive) {
        quietly(
                caller,
                "files:write",
                sandbox,
                path,
                (files, at) -> {
                    if (recursive) {
                        files.removeTree(at);
                    } else {
                        files.remove(at);
                    }
                    return at;
                });
    }

    @Override
    public FileJson move(Caller caller, String sandbox, MoveRequest request) {
        String to = Paths.absolute(request.to());
        return quietly(
                caller,
                "files:write",
                sandbox,
                request.from(),
                (files, at) -> {
                    files.move(at, to);
                    return stat(files, to);
                });
    }

    @Override
    public void archive(Caller caller, String sandbox, String path, OutputStream target)
            throws IOException {
        Access.require(caller, "files:read");
        String absolute = Paths.absolute(path);
        try (Uses.Use use = uses.of(caller, sandbox)) {
            Archives.write(use.box().hosted().files(), absolute, target, sized(use.box()));
        }
    }

    @Override
    public long unpack(Caller caller, String sandbox, String path, InputStream archive)
            throws IOException {
        Long disk = parts.boxes().living(caller, sandbox).doc().limits.diskBytes();
        long cap = disk == null ? Long.MAX_VALUE : disk;
        return aside(
                parts,
                caller,
                aside ->
                        within(
                                caller,
                                "files:write",
                                sandbox,
                                path,
                                (files, at) -> Archives.unpack(files, at, archive, cap, aside)));
    }

    /** What needs a place on the server's disk. */
    interface Unpacking {
        long run(Archives.Aside aside) throws IOException;
    }

    /** What is kept aside meanwhile is of the server's disk, and in the tenant's quota. */
    static long aside(Parts parts, Caller caller, Unpacking work) throws IOException {
        Quotas.Kept kept = parts.quotas().keep(caller.tenant(), ByteSize.of(0));
        try {
            return work.run(
                    new Archives.Aside(
                            parts.config().data().resolve("tmp"),
                            bytes -> kept.change(ByteSize.of(bytes))));
        } finally {
            kept.release();
        }
    }

    // ---- watching

    @Override
    public void watch(Caller caller, String sandbox, String path, boolean recursive, WatchSink sink)
            throws IOException {
        Access.require(caller, "files:read");
        String absolute = Paths.absolute(path);
        try (Uses.Use use = uses.of(caller, sandbox)) {
            Queue queue = new Queue();
            try (Watch _ = use.box().hosted().watch(absolute, recursive, queue)) {
                queue.tell(sink, parts.ledger());
            }
        }
    }

    /** Between the sandbox and a client that may be slow: what does not fit is an overflow. */
    private static final class Queue implements WatchListener {
        private final BlockingQueue<WatchEvent> events = new ArrayBlockingQueue<>(WATCH_QUEUE);
        private final AtomicBoolean overflow = new AtomicBoolean();
        private final AtomicLong id = new AtomicLong();
        private volatile boolean ended;

        @Override
        public void event(WatchEvent event) {
            if (!events.offer(event)) {
                overflow.set(true);
            }
        }

        @Override
        public void overflow() {
            overflow.set(true);
        }

        @Override
        public void ended(CaissonException cause) {
            ended = true;
        }

        void tell(WatchSink sink, Ledger ledger) throws IOException {
            sink.accept(item(ledger, "ready", null, null));
            long quiet = 0;
            while (!ended || !events.isEmpty()) {
                WatchEvent event = next();
                if (overflow.getAndSet(false)) {
                    sink.accept(item(ledger, "overflow", null, null));
                }
                if (event != null) {
                    quiet = 0;
                    sink.accept(
                            item(ledger, event.kind().value(), event.path(), event.type().value()));
                } else if (++quiet >= KEEPALIVE_SECONDS) {
                    quiet = 0;
                    sink.accept(item(ledger, "keepalive", null, null));
                }
            }
        }

        private @Nullable WatchEvent next() throws IOException {
            try {
                return events.poll(1, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("Interrupted while watching.", e);
            }
        }

        private WatchJson item(
                Ledger ledger, String type, @Nullable String path, @Nullable String fileType) {
            return new WatchJson(
                    Long.toString(id.incrementAndGet()), ledger.now(), type, path, fileType);
        }
    }
}
