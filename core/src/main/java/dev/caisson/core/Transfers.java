package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.api.User;
import dev.caisson.api.UserInfo;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchListener;
import dev.caisson.redact.Redactor;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.Cancel;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.FileChange;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileGet;
import dev.caisson.wire.agent.FileList;
import dev.caisson.wire.agent.FilePut;
import dev.caisson.wire.agent.FileStat;
import dev.caisson.wire.agent.UserAdd;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * What a client does through the agent besides running commands: files, listings, changes,
 * connections, watches, users. Only watches survive a broken connection.
 */
final class Transfers {
    /** Most data bytes in one frame. */
    static final int CHUNK = 256 << 10;

    private static final long FIRST_LIMIT = 1 << 20;
    private static final long MAX_LIST_BYTES = 64 << 20;

    /** What becomes of an entry and of a byte of its path on the way into an answer. */
    private static final long ENTRY_COST = 400;

    private static final long PATH_COST = 12;
    private static final int MAX_PORT = 65_535;

    private final AgentClient client;
    private final Redaction redaction;

    Transfers(AgentClient client, Redaction redaction) {
        this.client = client;
        this.redaction = redaction;
    }

    // ---- writing

    /** Starts writing a file whole; nothing shows before {@link Put#finish}. */
    Put put(FilePut request, String name) {
        Put put = new Put(name);
        client.open(put.number, put, ClientFrame.newBuilder().setFilePut(request));
        return put;
    }

    /** Makes, moves or removes something; the result waits. */
    CompletableFuture<Long> change(FileChange request, String name) {
        Put put = new Put(name);
        client.open(put.number, put, ClientFrame.newBuilder().setFileChange(request));
        return put.done;
    }

    /** A file on its way in. One writing thread. */
    final class Put implements AgentClient.Stream, AutoCloseable {
        private final long number = client.newStream();
        private final String name;
        private final CompletableFuture<Long> done = new CompletableFuture<>();
        private final Outflow out = new Outflow(client, number, FIRST_LIMIT);
        private volatile boolean finished; // written by the writing thread

        Put(String name) {
            this.name = name;
        }

        /** Sends the rest of a buffer, best a direct one; waits for credit. */
        void write(ByteBuffer data) {
            try {
                if (!out.write(data)) {
                    // Without a connection the reading thread fails this stream.
                    Transfers.join(done);
                    throw CaissonException.of(
                            ErrorCode.ENGINE_FAILED, name + " was finished before its end.");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CaissonException.of(
                        ErrorCode.CANCELLED, "Interrupted while " + name + " was written.", e);
            }
        }

        /** Says that all was sent; the result waits for the agent. */
        CompletableFuture<Long> finish() {
            finished = true;
            out.end();
            return done;
        }

        @Override
        public void close() {
            if (!finished && !done.isDone()) {
                cancel(number);
            }
        }

        @Override
        public void frame(AgentFrame frame) {
            switch (frame.getBodyCase()) {
                case FILE_CREDIT -> out.grant(frame.getFileCredit().getLimit());
                case FILE_DONE -> {
                    client.forget(number);
                    done.complete(Wire.positive(frame.getFileDone().getBytes()));
                    out.stop();
                }
                case ERROR -> {
                    client.forget(number);
                    fail(AgentErrors.exception(frame.getError(), name, false));
                }
                default -> {}
            }
        }

        @Override
        public void fail(CaissonException cause) {
            done.completeExceptionally(cause);
            out.stop();
        }
    }

    /** Forgets a stream and tells the agent to. */
    void cancel(long number) {
        client.forget(number);
        client.send(
                ClientFrame.newBuilder()
                        .setStream(number)
                        .setCancel(Cancel.getDefaultInstance())
                        .build());
    }

    // ---- reading

    /**
     * Starts reading a regular file, without its secrets.
     *
     * @param length bytes at most; 0: to its end
     * @param window bytes that may be on their way
     */
    Get get(ByteString path, String name, long length, long window) {
        return get(path, name, 0, length, window);
    }

    Get get(ByteString path, String name, long offset, long length, long window) {
        Redactor redactor = redaction.current();
        return redactor.isEmpty()
                ? get(path, new Get(name, window, null), offset, length)
                : get(
                        path,
                        new Get(name, window, new RedactedFile(redactor, offset, length)),
                        0,
                        0);
    }

    private Get get(ByteString path, Get get, long offset, long length) {
        client.open(
                get.number,
                get,
                ClientFrame.newBuilder()
                        .setFileGet(
                                FileGet.newBuilder()
                                        .setPath(path)
                                        .setOffset(offset)
                                        .setLength(length)
                                        .setCreditBytes(get.window)));
        return get;
    }

    /** A file on its way out. One taking thread. */
    final class Get implements AgentClient.Stream, AutoCloseable {
        private final long number = client.newStream();
        private final String name;
        private final long window;
        private final Inflow in;
        private final @Nullable RedactedFile redacted;

        Get(String name, long window, @Nullable RedactedFile redacted) {
            this.name = name;
            this.window = window;
            this.redacted = redacted;
            this.in = new Inflow(client, number, window);
        }

        /** The next bytes, empty at the end; waits for them. */
        ByteString next() {
            return redacted == null ? received() : redacted.next(this::received);
        }

        /** How many secrets were taken out so far. */
        long redactions() {
            return redacted == null ? 0 : redacted.found();
        }

        private ByteString received() {
            try {
                return in.next();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CaissonException.of(
                        ErrorCode.CANCELLED, "Interrupted while " + name + " was read.", e);
            }
        }

        @Override
        public void frame(AgentFrame frame) throws IOException {
            switch (frame.getBodyCase()) {
                case FILE_DATA -> {
                    in.data(frame.getFileData());
                    if (frame.getFileData().getLast()) {
                        client.forget(number);
                    }
                }
                case ERROR -> {
                    client.forget(number);
                    fail(AgentErrors.exception(frame.getError(), name, false));
                }
                default -> {}
            }
        }

        @Override
        public void fail(CaissonException cause) {
            in.fail(cause);
        }

        @Override
        public void close() {
            if (in.open()) {
                cancel(number);
            }
        }
    }

    // ---- listing

    /** What a listing brought. */
    record Listing(List<FileEntry> entries, boolean truncated, long skipped) {}

    /** Lists a folder; the result waits. */
    CompletableFuture<Listing> list(ByteString path, String name, boolean recursive, int max) {
        ListStream list = new ListStream(name, max, false);
        client.open(
                list.number,
                list,
                ClientFrame.newBuilder()
                        .setFileList(
                                FileList.newBuilder()
                                        .setPath(path)
                                        .setRecursive(recursive)
                                        .setMaxEntries(max)));
        return list.done;
    }

    /** One entry, links not followed; its path is empty. */
    CompletableFuture<Listing> stat(ByteString path, String name) {
        ListStream list = new ListStream(name, 1, true);
        client.open(
                list.number,
                list,
                ClientFrame.newBuilder().setFileStat(FileStat.newBuilder().setPath(path)));
        return list.done;
    }

    private final class ListStream implements AgentClient.Stream {
        private final long number = client.newStream();
        private final String name;
        private final int max;
        private final boolean single;
        private final CompletableFuture<Listing> done = new CompletableFuture<>();
        private final List<FileEntry> entries = new ArrayList<>(); // of the reading thread
        private final @Nullable Room room = Room.current(); // of whoever asked
        private long bytes; // of the reading thread

        /**
         * A listing on its way.
         *
         * @param single whether the first answer is the last
         */
        ListStream(String name, int max, boolean single) {
            this.name = name;
            this.max = max;
            this.single = single;
        }

        @Override
        public void frame(AgentFrame frame) throws IOException {
            switch (frame.getBodyCase()) {
                case FILE_ENTRIES -> {
                    for (FileEntry entry : frame.getFileEntries().getEntriesList()) {
                        add(entry);
                    }
                    if (!fits(frame)) {
                        return;
                    }
                    if (single || frame.getFileEntries().getLast()) {
                        client.forget(number);
                        done.complete(
                                new Listing(
                                        entries,
                                        frame.getFileEntries().getTruncated(),
                                        Wire.positive(frame.getFileEntries().getSkipped())));
                    }
                }
                case ERROR -> {
                    client.forget(number);
                    fail(AgentErrors.exception(frame.getError(), name, false));
                }
                default -> {}
            }
        }

        private void add(FileEntry entry) throws IOException {
            bytes += entry.getPath().size() + entry.getTarget().size();
            if (entries.size() >= max || bytes > MAX_LIST_BYTES) {
                throw new ProtocolException("A listing is longer than was asked for.");
            }
            entries.add(entry);
        }

        /** Whether whoever asked may hold that much. */
        private boolean fits(AgentFrame frame) {
            if (room == null) {
                return true;
            }
            try {
                long cost = 0;
                for (FileEntry entry : frame.getFileEntries().getEntriesList()) {
                    cost += ENTRY_COST + PATH_COST * entry.getPath().size();
                    cost += PATH_COST * entry.getTarget().size();
                }
                room.take(cost);
                return true;
            } catch (CaissonException e) {
                entries.clear();
                cancel(number);
                fail(e);
                return false;
            }
        }

        @Override
        public void fail(CaissonException cause) {
            done.completeExceptionally(cause);
        }
    }

    // ---- what else goes over the channel

    /** Connects to a TCP port inside; returns when it is connected. */
    Tunnel dial(int port) {
        if (port < 1 || port > MAX_PORT) {
            throw CaissonException.invalid(
                    "port", "A port is 1 to " + MAX_PORT + ", not " + port + ".");
        }
        TunnelStream tunnel = new TunnelStream(client, this, port);
        tunnel.open();
        return tunnel;
    }

    /** Watches a folder; returns when it is watched. */
    Watch watch(ByteString path, String name, boolean recursive, WatchListener listener) {
        WatchStream watch = new WatchStream(client, this, path, name, recursive, listener);
        watch.open();
        return watch;
    }

    /** Makes a user inside. */
    UserInfo addUser(String name) {
        String checked = User.named(name).label();
        UserStream user = new UserStream("Making the user " + checked);
        client.open(
                user.number,
                user,
                ClientFrame.newBuilder()
                        .setUserAdd(
                                UserAdd.newBuilder().setName(ByteString.copyFromUtf8(checked))));
        return join(user.done);
    }

    private final class UserStream implements AgentClient.Stream {
        private final long number = client.newStream();
        private final String name;
        private final CompletableFuture<UserInfo> done = new CompletableFuture<>();

        UserStream(String name) {
            this.name = name;
        }

        @Override
        public void frame(AgentFrame frame) {
            switch (frame.getBodyCase()) {
                case USER_INFO -> {
                    client.forget(number);
                    dev.caisson.wire.agent.UserInfo info = frame.getUserInfo();
                    done.complete(
                            new UserInfo(
                                    Names.escape(info.getName()),
                                    info.getUid(),
                                    info.getGid(),
                                    Names.escape(info.getHome()),
                                    Names.escape(info.getShell())));
                }
                case ERROR -> {
                    client.forget(number);
                    fail(AgentErrors.exception(frame.getError(), name, false));
                }
                default -> {}
            }
        }

        @Override
        public void fail(CaissonException cause) {
            done.completeExceptionally(cause);
        }
    }

    /** Waits for a result; an interrupt is {@link ErrorCode#CANCELLED}. */
    static <T> T join(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted.", e);
        } catch (ExecutionException | CompletionException e) {
            if (e.getCause() instanceof CaissonException cause) {
                throw cause;
            }
            throw CaissonException.of(ErrorCode.INTERNAL, "Unexpected: " + e.getMessage(), e);
        }
    }
}
