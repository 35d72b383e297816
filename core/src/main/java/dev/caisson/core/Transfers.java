package dev.caisson.core;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.wire.agent.Ack;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.Cancel;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.FileChange;
import dev.caisson.wire.agent.FileData;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileGet;
import dev.caisson.wire.agent.FileList;
import dev.caisson.wire.agent.FilePut;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** File transfers, listings and changes on the data channel. They do not survive a broken connection. */
final class Transfers {
    /** Most data bytes in one frame. */
    static final int CHUNK = 256 << 10;

    private static final long FIRST_LIMIT = 1 << 20;
    private static final long MAX_LIST_BYTES = 64 << 20;
    private static final int MAX_PIECES = 16 << 10;
    private static final int FILE_DATA_FIELD = ClientFrame.FILE_DATA_FIELD_NUMBER;

    private final AgentClient client;

    Transfers(AgentClient client) {
        this.client = client;
    }

    // ---- writing

    /** Starts writing a file whole; nothing shows before {@link Put#finish}. */
    Put put(FilePut request, String name) {
        Put put = new Put(name);
        client.register(put.number, put);
        client.send(ClientFrame.newBuilder()
                .setStream(put.number)
                .setFilePut(request)
                .build());
        return put;
    }

    /** Makes, moves or removes something; the result waits. */
    CompletableFuture<Long> change(FileChange request, String name) {
        Put put = new Put(name);
        client.register(put.number, put);
        client.send(ClientFrame.newBuilder()
                .setStream(put.number)
                .setFileChange(request)
                .build());
        return put.done;
    }

    /** A file on its way in. One writing thread. */
    final class Put implements AgentClient.Stream, AutoCloseable {
        private final long number = client.newStream();
        private final String name;
        private final CompletableFuture<Long> done = new CompletableFuture<>();
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private long limit = FIRST_LIMIT; // guarded by lock
        private long sent; // of the writing thread
        private boolean finished; // of the writing thread

        Put(String name) {
            this.name = name;
        }

        /** Sends the rest of a buffer, best a direct one; waits for credit. */
        void write(ByteBuffer data) {
            int end = data.limit();
            while (data.hasRemaining()) {
                int size = (int) Math.min(Math.min(CHUNK, data.remaining()), room());
                data.limit(data.position() + size);
                if (!client.send(prefix(number, size), data)) {
                    // The reading thread fails this stream; that is what the caller is told.
                    Transfers.join(done);
                }
                data.limit(end);
                sent += size;
            }
        }

        private long room() {
            lock.lock();
            try {
                while (sent >= limit && !done.isDone()) {
                    changed.await();
                }
                if (done.isDone()) {
                    Transfers.join(done);
                    throw CaissonException.of(ErrorCode.ENGINE_FAILED, name + " was finished before its end.");
                }
                return limit - sent;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while " + name + " was written.", e);
            } finally {
                lock.unlock();
            }
        }

        /** Says that all was sent; the result waits for the agent. */
        CompletableFuture<Long> finish() {
            finished = true;
            client.send(ClientFrame.newBuilder()
                    .setStream(number)
                    .setFileData(FileData.newBuilder().setLast(true))
                    .build());
            return done;
        }

        @Override
        public void close() {
            if (!finished && !done.isDone()) {
                client.forget(number);
                cancel(number);
            }
        }

        @Override
        public void frame(AgentFrame frame) {
            switch (frame.getBodyCase()) {
                case FILE_CREDIT -> {
                    lock.lock();
                    try {
                        limit = Math.max(limit, Wire.positive(frame.getFileCredit().getLimit()));
                        changed.signalAll();
                    } finally {
                        lock.unlock();
                    }
                }
                case FILE_DONE -> {
                    client.forget(number);
                    done.complete(Wire.positive(frame.getFileDone().getBytes()));
                    wake();
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
            wake();
        }

        private void wake() {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void cancel(long number) {
        client.send(ClientFrame.newBuilder()
                .setStream(number)
                .setCancel(Cancel.getDefaultInstance())
                .build());
    }

    /** The body of a {@code FileData} frame up to its data, which the writer sends without a copy. */
    private static byte[] prefix(long number, int size) {
        int inner = CodedOutputStream.computeTagSize(FileData.DATA_FIELD_NUMBER)
                + CodedOutputStream.computeUInt32SizeNoTag(size)
                + size;
        int length = CodedOutputStream.computeUInt64Size(ClientFrame.STREAM_FIELD_NUMBER, number)
                + CodedOutputStream.computeTagSize(FILE_DATA_FIELD)
                + CodedOutputStream.computeUInt32SizeNoTag(inner)
                + inner
                - size;
        byte[] bytes = new byte[length];
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            out.writeUInt64(ClientFrame.STREAM_FIELD_NUMBER, number);
            out.writeTag(FILE_DATA_FIELD, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeUInt32NoTag(inner);
            out.writeTag(FileData.DATA_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeUInt32NoTag(size);
            out.checkNoSpaceLeft();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes;
    }

    // ---- reading

    /**
     * Starts reading a regular file.
     *
     * @param length bytes at most; 0: to its end
     * @param window bytes that may be on their way
     */
    Get get(ByteString path, String name, long length, long window) {
        Get get = new Get(name, window);
        client.register(get.number, get);
        client.send(ClientFrame.newBuilder()
                .setStream(get.number)
                .setFileGet(FileGet.newBuilder().setPath(path).setLength(length).setCreditBytes(window))
                .build());
        return get;
    }

    /** A file on its way out. One taking thread. */
    final class Get implements AgentClient.Stream, AutoCloseable {
        private final long number = client.newStream();
        private final String name;
        private final long window;
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private final ArrayDeque<ByteString> queue = new ArrayDeque<>(); // guarded by lock
        private long granted; // guarded by lock
        private long received; // guarded by lock
        private boolean last; // guarded by lock
        private @Nullable CaissonException failure; // guarded by lock
        private long taken; // of the taking thread: since the last grant

        Get(String name, long window) {
            this.name = name;
            this.window = window;
            this.granted = window;
        }

        /** The next bytes, empty at the end; waits for them. */
        ByteString next() {
            grant();
            lock.lock();
            try {
                while (queue.isEmpty() && !last && failure == null) {
                    changed.await();
                }
                if (queue.isEmpty()) {
                    if (failure != null) {
                        throw failure;
                    }
                    return ByteString.EMPTY;
                }
                ByteString data = queue.removeFirst();
                taken += data.size();
                return data;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw CaissonException.of(ErrorCode.CANCELLED, "Interrupted while " + name + " was read.", e);
            } finally {
                lock.unlock();
            }
        }

        private void grant() {
            if (taken < window / 4) {
                return;
            }
            long more = taken;
            taken = 0;
            lock.lock();
            try {
                if (last) {
                    return;
                }
                granted += more;
            } finally {
                lock.unlock();
            }
            client.send(ClientFrame.newBuilder()
                    .setStream(number)
                    .setAck(Ack.newBuilder().setCreditBytes(more))
                    .build());
        }

        @Override
        public void frame(AgentFrame frame) throws IOException {
            switch (frame.getBodyCase()) {
                case FILE_DATA -> data(frame.getFileData());
                case ERROR -> {
                    client.forget(number);
                    fail(AgentErrors.exception(frame.getError(), name, false));
                }
                default -> {}
            }
        }

        private void data(FileData data) throws IOException {
            lock.lock();
            try {
                received += data.getData().size();
                if (received > granted || queue.size() >= MAX_PIECES) {
                    throw new ProtocolException("The agent sent more of a file than it was granted.");
                }
                if (!data.getData().isEmpty()) {
                    queue.add(data.getData());
                }
                last = data.getLast();
                changed.signalAll();
            } finally {
                lock.unlock();
            }
            if (data.getLast()) {
                client.forget(number);
            }
        }

        @Override
        public void fail(CaissonException cause) {
            lock.lock();
            try {
                failure = cause;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void close() {
            boolean open;
            lock.lock();
            try {
                open = !last && failure == null;
            } finally {
                lock.unlock();
            }
            if (open) {
                client.forget(number);
                cancel(number);
            }
        }
    }

    // ---- listing

    /** What a listing brought. */
    record Listing(List<FileEntry> entries, boolean truncated, long skipped) {}

    /** Lists a folder; the result waits. */
    CompletableFuture<Listing> list(ByteString path, String name, boolean recursive, int max) {
        ListStream list = new ListStream(name, max);
        client.register(list.number, list);
        client.send(ClientFrame.newBuilder()
                .setStream(list.number)
                .setFileList(FileList.newBuilder()
                        .setPath(path)
                        .setRecursive(recursive)
                        .setMaxEntries(max))
                .build());
        return list.done;
    }

    private final class ListStream implements AgentClient.Stream {
        private final long number = client.newStream();
        private final String name;
        private final int max;
        private final CompletableFuture<Listing> done = new CompletableFuture<>();
        private final List<FileEntry> entries = new ArrayList<>(); // of the reading thread
        private long bytes; // of the reading thread

        ListStream(String name, int max) {
            this.name = name;
            this.max = max;
        }

        @Override
        public void frame(AgentFrame frame) throws IOException {
            switch (frame.getBodyCase()) {
                case FILE_ENTRIES -> {
                    for (FileEntry entry : frame.getFileEntries().getEntriesList()) {
                        add(entry);
                    }
                    if (frame.getFileEntries().getLast()) {
                        client.forget(number);
                        done.complete(new Listing(
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
