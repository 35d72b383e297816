package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Position;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What an exec wrote, in segment files {@code EXEC.N}: the first segment is kept whole, of the
 * later ones the last few. Survives the server's end as soon as {@link #append} returned. A small
 * one is held in memory as well and ends up in the exec's row.
 *
 * <p>One thread appends, any number read. The lock guards all fields.
 */
final class OutputLog {
    static final int SMALL = 32 << 10;

    /** Of a segment in memory; more than a record has. */
    private static final int PART = 2 << 20;

    private static final int TAIL_SEGMENTS = 4;

    private final Path folder;
    private final String exec;
    private final long headBytes;
    private final long segmentBytes;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition more = lock.newCondition();
    private final TreeMap<Integer, Long> segments = new TreeMap<>(); // number to length
    private @Nullable ByteArrayOutputStream memory = new ByteArrayOutputStream(256);
    private @Nullable FileChannel channel;
    private boolean complete;
    private boolean deleted;
    private long seq;
    private final long[] offsets = new long[3];

    /**
     * A new log; nothing is made before there is output.
     *
     * @param headBytes of the first segment
     * @param tailBytes of all later ones that are kept
     */
    OutputLog(Path folder, String exec, long headBytes, long tailBytes) {
        this.folder = folder;
        this.exec = exec;
        this.headBytes = headBytes;
        this.segmentBytes = Math.max(64 << 10, tailBytes / TAIL_SEGMENTS);
    }

    /** The log that an earlier server wrote; what was cut off at its end is cut away. */
    static OutputLog recover(Path folder, String exec, long headBytes, long tailBytes) {
        OutputLog log = new OutputLog(folder, exec, headBytes, tailBytes);
        log.memory = null;
        try {
            log.findSegments();
            log.readPosition();
        } catch (IOException e) {
            throw failure(exec, e);
        }
        return log;
    }

    /** A log whose whole content came from the exec's row. */
    static OutputLog of(Path folder, String exec, byte[] content) {
        OutputLog log = new OutputLog(folder, exec, 0, 0);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(content.length);
        bytes.writeBytes(content);
        log.memory = bytes;
        log.complete = true;
        ByteBuffer records = ByteBuffer.wrap(content);
        for (OutputRecord record = OutputRecord.next(records);
                record != null;
                record = OutputRecord.next(records)) {
            log.account(record);
        }
        return log;
    }

    private void findSegments() throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                String name = String.valueOf(file.getFileName());
                if (name.startsWith(exec + ".")) {
                    segments.put(
                            Integer.parseInt(name.substring(exec.length() + 1)), Files.size(file));
                }
            }
        }
    }

    private void readPosition() throws IOException {
        for (int number : List.copyOf(segments.keySet())) {
            try (FileChannel segment =
                    FileChannel.open(
                            file(number), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                long whole = whole(segment);
                if (whole < segment.size()) {
                    segment.truncate(whole);
                    segments.put(number, whole);
                }
            }
        }
    }

    /** Accounts for the records of a segment, a part of it in memory at a time; their length. */
    private long whole(FileChannel segment) throws IOException {
        ByteBuffer part = ByteBuffer.allocate(PART);
        long at = 0;
        while (true) {
            part.clear();
            read(segment, part, at);
            part.flip();
            for (OutputRecord record = OutputRecord.next(part);
                    record != null;
                    record = OutputRecord.next(part)) {
                account(record);
            }
            if (part.position() == 0) {
                return at;
            }
            at += part.position();
        }
    }

    private static void read(FileChannel from, ByteBuffer target, long position)
            throws IOException {
        while (target.hasRemaining()) {
            if (from.read(target, position + target.position()) < 0) {
                return;
            }
        }
    }

    private void account(OutputRecord record) {
        seq = Math.max(seq, record.seq());
        // Never backwards: what a host that lost power left behind may be zeros.
        if (record.kind().output()) {
            reach(record.kind().fd(), record.offset() + record.data().remaining());
        } else if (record.kind().gap() && record.data().remaining() == Long.BYTES) {
            reach(record.kind().fd(), record.offset() + record.number());
        }
    }

    private void reach(int fd, long offset) {
        offsets[fd] = Math.max(offsets[fd], offset);
    }

    /** Nothing more comes, and so much was written, whatever of it is kept. */
    void complete(long @Nullable [] written) {
        lock.lock();
        try {
            for (int fd = 0; written != null && fd < offsets.length; fd++) {
                reach(fd, written[fd]);
            }
            complete();
        } finally {
            lock.unlock();
        }
    }

    /** Up to where it is kept: an adopted exec goes on behind this. */
    Position position(long stdinReceived) {
        lock.lock();
        try {
            return new Position(seq, offsets[0], offsets[1], offsets[2], stdinReceived);
        } finally {
            lock.unlock();
        }
    }

    /** Bytes written so far, of each descriptor. */
    long[] totals() {
        lock.lock();
        try {
            return offsets.clone();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Keeps a record.
     *
     * @throws CaissonException {@link ErrorCode#HOST_DISK_FULL} when it cannot be kept
     */
    void append(OutputRecord record) {
        lock.lock();
        try {
            if (deleted || complete) {
                return;
            }
            if (record.kind() == OutputRecord.Kind.STARTED && channel == null && memory != null) {
                remember(record);
            } else {
                write(record);
            }
            account(record);
            more.signalAll();
        } catch (IOException e) {
            throw failure(exec, e);
        } finally {
            lock.unlock();
        }
    }

    private void remember(OutputRecord record) {
        ByteArrayOutputStream small = memory;
        if (small == null) {
            return;
        }
        if (small.size() + OutputRecord.HEADER + record.data().remaining() > SMALL) {
            memory = null;
            return;
        }
        small.writeBytes(record.header().array());
        byte[] data = new byte[record.data().remaining()];
        record.data().get(record.data().position(), data);
        small.writeBytes(data);
    }

    private void write(OutputRecord record) throws IOException {
        FileChannel to = writable(OutputRecord.HEADER + record.data().remaining());
        all(to, record.header(), record.data().duplicate());
        remember(record);
    }

    /** All of it, or the segment is as it was: a part of a record would hide all later ones. */
    private void all(FileChannel to, ByteBuffer... parts) throws IOException {
        int last = segments.lastKey();
        long before = length(last);
        long length = before;
        try {
            for (ByteBuffer part : parts) {
                while (part.hasRemaining()) {
                    length += to.write(part);
                }
            }
            segments.put(last, length);
        } catch (IOException e) {
            to.truncate(before);
            throw e;
        }
    }

    private FileChannel writable(int bytes) throws IOException {
        if (segments.isEmpty()) {
            openNext(0);
        }
        ByteArrayOutputStream begun = memory;
        FileChannel first = channel;
        if (begun != null && first != null && length(0) == 0 && begun.size() > 0) {
            all(first, ByteBuffer.wrap(begun.toByteArray()));
        }
        int last = segments.lastKey();
        long room = (last == 0 ? headBytes : segmentBytes) - length(last);
        if (room < bytes && length(last) > 0) {
            return openNext(last + 1);
        }
        if (channel == null) {
            channel =
                    FileChannel.open(
                            file(last), StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        }
        return channel;
    }

    private FileChannel openNext(int number) throws IOException {
        if (channel != null) {
            channel.close();
            channel = null;
        }
        Files.createDirectories(folder);
        FileChannel next =
                FileChannel.open(
                        file(number),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE);
        channel = next;
        segments.put(number, 0L);
        int oldest = number - TAIL_SEGMENTS;
        for (int old : List.copyOf(segments.keySet())) {
            if (old > 0 && old <= oldest) {
                segments.remove(old);
                Files.deleteIfExists(file(old));
            }
        }
        return next;
    }

    private long length(int number) {
        return segments.getOrDefault(number, 0L);
    }

    private Path file(int number) {
        return folder.resolve(exec + "." + number);
    }

    /**
     * Nothing more will come; what is kept is durable when this returns.
     *
     * @return the whole content when it is small; the files are then not needed any more
     */
    byte @Nullable [] finish() {
        lock.lock();
        try {
            ByteArrayOutputStream small = memory;
            if (small != null) {
                return small.toByteArray();
            }
            if (channel != null) {
                channel.force(true);
                channel.close();
                channel = null;
            }
            return null;
        } catch (IOException e) {
            throw failure(exec, e);
        } finally {
            lock.unlock();
        }
    }

    /** The exec's row is durable: readers come to the end. Small: its files are removed. */
    void complete() {
        lock.lock();
        try {
            complete = true;
            more.signalAll();
            if (channel != null) {
                channel.close();
                channel = null;
            }
            if (memory != null) {
                removeFiles();
            }
        } catch (IOException e) {
            // What is kept was synced by finish, or is in the row.
        } finally {
            lock.unlock();
        }
    }

    /** Removes what is kept. */
    void delete() {
        lock.lock();
        try {
            deleted = true;
            complete = true;
            memory = null;
            if (channel != null) {
                channel.close();
                channel = null;
            }
            removeFiles();
            more.signalAll();
        } catch (IOException e) {
            throw failure(exec, e);
        } finally {
            lock.unlock();
        }
    }

    private void removeFiles() {
        for (int number : segments.keySet()) {
            try {
                Files.deleteIfExists(file(number));
            } catch (IOException e) {
                // The folder goes with the sandbox; nothing refers to this file.
            }
        }
        segments.clear();
    }

    /** Reads from the start; by one thread. */
    Reader reader() {
        return new Reader();
    }

    /** Goes through the records, also of what is still written. */
    final class Reader {
        private int segment = -1;
        private long position;
        private ByteBuffer buffered = ByteBuffer.allocate(0);

        /**
         * The next record; null when there is none within that time, or none at all any more
         * ({@link #ended}).
         */
        @Nullable OutputRecord next(long waitMillis) throws InterruptedException {
            OutputRecord ready = OutputRecord.next(buffered);
            if (ready != null) {
                return ready;
            }
            lock.lock();
            try {
                long left = TimeUnit.MILLISECONDS.toNanos(waitMillis);
                while (true) {
                    fill();
                    OutputRecord record = OutputRecord.next(buffered);
                    if (record != null || complete || left <= 0) {
                        return record;
                    }
                    left = more.awaitNanos(left);
                }
            } catch (IOException e) {
                throw failure(exec, e);
            } finally {
                lock.unlock();
            }
        }

        /** Whether there is nothing more, now and later. */
        boolean ended() {
            lock.lock();
            try {
                // What is buffered yet is damaged: next had nothing to make of it.
                return complete && (memory != null ? position >= memory.size() : atEnd());
            } finally {
                lock.unlock();
            }
        }

        private boolean atEnd() {
            return segments.isEmpty()
                    || (segment >= segments.lastKey() && position >= length(segment));
        }

        /** Under the lock. */
        private void fill() throws IOException {
            ByteArrayOutputStream small = memory;
            if (small != null) {
                if (segment >= 0) {
                    return; // read from files before; cannot happen while it is small
                }
                if (position < small.size()) {
                    byte[] all = small.toByteArray();
                    append(Arrays.copyOfRange(all, (int) position, all.length));
                    position = all.length;
                }
                return;
            }
            if (segments.isEmpty()) {
                return;
            }
            if (segment < 0) {
                segment = 0;
                // What was read from memory stands at the start of the first segment as well.
            }
            if (!segments.containsKey(segment) || position >= length(segment)) {
                Integer later = segments.higherKey(segment);
                if (later == null) {
                    return;
                }
                if (segments.containsKey(segment) && position < length(segment)) {
                    return;
                }
                segment = later;
                position = 0;
                buffered = ByteBuffer.allocate(0);
            }
            readSegment();
        }

        private void readSegment() throws IOException {
            long length = length(segment) - position;
            if (length <= 0) {
                return;
            }
            ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(length, 512 << 10));
            try (FileChannel from = FileChannel.open(file(segment), StandardOpenOption.READ)) {
                read(from, bytes, position);
            }
            position += bytes.position();
            append(Arrays.copyOf(bytes.array(), bytes.position()));
        }

        private void append(byte[] fresh) {
            byte[] all = new byte[buffered.remaining() + fresh.length];
            int old = buffered.remaining();
            buffered.get(all, 0, old);
            System.arraycopy(fresh, 0, all, old, fresh.length);
            buffered = ByteBuffer.wrap(all);
        }
    }

    /** Told one record after the other. */
    interface Visitor {
        /** Whether to go on. */
        boolean visit(OutputRecord record) throws IOException;
    }

    /** Goes through what is kept now; little of it is in memory at a time. */
    void visit(Visitor visitor) throws IOException {
        Reader reader = reader();
        try {
            OutputRecord record = reader.next(0);
            while (record != null && visitor.visit(record)) {
                record = reader.next(0);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static CaissonException failure(String exec, IOException e) {
        boolean full = String.valueOf(e.getMessage()).contains("No space left");
        return CaissonException.of(
                full ? ErrorCode.HOST_DISK_FULL : ErrorCode.INTERNAL,
                "The output of " + exec + " cannot be kept: " + e.getMessage(),
                e);
    }
}
