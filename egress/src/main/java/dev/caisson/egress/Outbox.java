package dev.caisson.egress;

import dev.caisson.wire.egress.GatewayEvent;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Events of one client until it has taken them, numbered without holes, in files that survive the
 * death of the gateway and of the client. A file is named by the number of its first event; when
 * all of them together are too long the oldest goes. Who asks for what is not there, or could not
 * be written, sees the gap in the numbers. Safe for use by several threads.
 */
final class Outbox implements Closeable {
    private static final int MAX_EVENT = 64 << 10;
    private static final Logger LOG = LoggerFactory.getLogger(Outbox.class);

    private final Path folder;
    private final String prefix;
    private final Sizes sizes;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition added = lock.newCondition();
    // Guarded by lock: files by the number of their first event.
    private final TreeMap<Long, Path> files = new TreeMap<>();
    private @Nullable FileChannel current;
    private long next = 1;
    private boolean closed;

    /**
     * How much is kept.
     *
     * @param file bytes after which the next one is begun
     * @param files at most
     */
    record Sizes(long file, int files) {
        static final Sizes DEFAULT = new Sizes(4 << 20, 16);
    }

    private Outbox(Path folder, String prefix, Sizes sizes) {
        this.folder = folder;
        this.prefix = prefix;
        this.sizes = sizes;
    }

    /** Opens the outbox of a client and goes on behind what is kept. */
    static Outbox open(Path folder, int owner, Sizes sizes) throws IOException {
        String prefix = "outbox-" + Integer.toUnsignedString(owner) + "-";
        Outbox outbox = new Outbox(folder, prefix, sizes);
        outbox.recover();
        return outbox;
    }

    private void recover() throws IOException {
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, prefix + "*")) {
            for (Path file : found) {
                String number = String.valueOf(file.getFileName()).substring(prefix.length());
                try {
                    files.put(Long.parseLong(number), file);
                } catch (NumberFormatException e) {
                    LOG.warn("no outbox name={}", file.getFileName());
                }
            }
        }
        if (!files.isEmpty()) {
            next = files.lastKey();
            Path last = files.lastEntry().getValue();
            long whole;
            try (OutboxCursor cursor = new OutboxCursor(last)) {
                GatewayEvent event;
                while ((event = cursor.next()) != null) {
                    next = event.getNumber() + 1;
                }
                whole = cursor.position();
            }
            current = FileChannel.open(last, StandardOpenOption.WRITE);
            current.truncate(whole)
                    .position(whole); // what was cut off by a kill was told to nobody
        }
    }

    /** Adds an event, whose number is set here. */
    void add(GatewayEvent.Builder event) {
        lock.lock();
        try {
            if (!closed) {
                // Of one that is lost as well: the hole tells of it.
                long number = next++;
                append(event.setNumber(number).build(), number);
                added.signalAll();
            }
        } catch (IOException e) {
            added.signalAll();
            LOG.error("event lost type={} sandbox={}", event.getType(), event.getSandbox(), e);
        } finally {
            lock.unlock();
        }
    }

    private void append(GatewayEvent event, long number) throws IOException {
        ByteBuffer bytes = ChannelWriter.encode(event);
        if (bytes.remaining() > MAX_EVENT) {
            LOG.warn("event too long type={} sandbox={}", event.getType(), event.getSandbox());
        } else {
            write(room(number), bytes);
        }
    }

    private void write(FileChannel file, ByteBuffer bytes) throws IOException {
        long before = file.position();
        try {
            while (bytes.hasRemaining()) {
                file.write(bytes);
            }
        } catch (IOException e) {
            try {
                file.truncate(before);
            } catch (IOException again) {
                current = null; // nothing can be read behind half an event
                file.close();
                e.addSuppressed(again);
            }
            throw e;
        }
    }

    private FileChannel room(long number) throws IOException {
        FileChannel file = current;
        if (file != null && file.position() < sizes.file()) {
            return file;
        }
        if (file != null) {
            file.close();
            current = null;
        }
        Path path = folder.resolve(prefix + number);
        FileChannel begun =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        current = begun;
        files.put(number, path);
        while (files.size() > sizes.files()) {
            LOG.warn("outbox full, oldest events dropped file={}", files.firstEntry().getValue());
            Files.deleteIfExists(files.pollFirstEntry().getValue());
        }
        return begun;
    }

    /** Everything up to a number was taken: files of such events alone go. */
    void taken(long upTo) throws IOException {
        lock.lock();
        try {
            while (files.size() > 1 && secondKey() <= upTo + 1) {
                Files.deleteIfExists(files.pollFirstEntry().getValue());
            }
            FileChannel file = current;
            if (file != null && upTo >= next - 1 && file.size() > sizes.file() / 2) {
                file.close(); // the next event begins another file, and this one goes then
                current = null;
            }
        } finally {
            lock.unlock();
        }
    }

    private long secondKey() {
        return files.navigableKeySet().higher(files.firstKey());
    }

    /** The oldest number that is kept, or the next one. */
    long first() {
        lock.lock();
        try {
            return files.isEmpty() ? next : files.firstKey();
        } finally {
            lock.unlock();
        }
    }

    /** The next number. */
    long next() {
        lock.lock();
        try {
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the event of a number is there. */
    boolean await(long number, long millis) throws InterruptedException {
        lock.lock();
        try {
            long left = TimeUnit.MILLISECONDS.toNanos(millis);
            while (next <= number && !closed && left > 0) {
                left = added.awaitNanos(left);
            }
            return next > number;
        } finally {
            lock.unlock();
        }
    }

    /** The file in which a number is, or the oldest one behind it; null: it is not there yet. */
    @Nullable Path file(long number) {
        lock.lock();
        try {
            if (number >= next || files.isEmpty()) {
                return null;
            }
            Long key = files.floorKey(number);
            return key == null ? files.firstEntry().getValue() : files.get(key);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Where to go on when all of a file was read and a number that was given is not in it.
     *
     * @param wanted that number
     * @param told the next number, as it was before the end of the file was seen
     */
    long behind(Path file, long wanted, long told) {
        lock.lock();
        try {
            Map.Entry<Long, Path> its = files.floorEntry(wanted);
            if (its != null && !its.getValue().equals(file)) {
                return wanted; // a file was begun meanwhile
            }
            Long later = files.higherKey(wanted);
            return later == null ? told : Math.min(later, told);
        } finally {
            lock.unlock();
        }
    }

    /** Some events from a number on, in order; for tests and small looks. */
    List<GatewayEvent> from(long number, int max) throws IOException {
        List<GatewayEvent> found = new ArrayList<>();
        Path file = file(number);
        while (file != null && found.size() < max) {
            long wanted = found.isEmpty() ? number : found.getLast().getNumber() + 1;
            try (OutboxCursor cursor = new OutboxCursor(file)) {
                GatewayEvent event;
                while (found.size() < max && (event = cursor.next()) != null) {
                    if (event.getNumber() >= wanted) {
                        found.add(event);
                    }
                }
            }
            Path following = found.isEmpty() ? null : file(found.getLast().getNumber() + 1);
            file = following == null || following.equals(file) ? null : following;
        }
        return found;
    }

    @Override
    public void close() throws IOException {
        lock.lock();
        try {
            closed = true;
            added.signalAll();
            FileChannel file = current;
            if (file != null) {
                file.close();
            }
        } finally {
            lock.unlock();
        }
    }
}
