package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.OutputFd;
import dev.caisson.redact.Redactor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The last place before anybody sees the output of an exec: takes secrets out and numbers what is
 * left. Without secrets it only counts.
 *
 * <p>An event of the agent is told as taken only when all its bytes are out. So while the redactor
 * keeps bytes back, because they may begin a secret, all of the output waits: for more of it, for
 * the end, or for {@link #PAUSE_MILLIS} of silence. Only what waits beyond {@link #MOST} bytes goes
 * out before.
 */
final class Outlet {
    /** After so much silence nothing is kept back. */
    static final long PAUSE_MILLIS = 100;

    /** Bytes that wait at most, and that a consumer gets at once. */
    static final int MOST = 256 << 10;

    private static final int FDS = 3;
    private static final Executor PAUSES =
            task -> Thread.ofVirtual().name("caisson-redaction").start(task);

    /** Who takes what comes out; called under the lock, in order. */
    interface Target {
        /**
         * Output.
         *
         * @param weight bytes of the agent's credit that are done with it
         */
        void output(long seq, OutputFd fd, long offset, ByteString data, long weight)
                throws ProtocolException;

        /** Output that was lost. */
        void gap(long seq, OutputFd fd, long offset, long bytes) throws ProtocolException;

        /**
         * Whether some of the agent's bytes that were told are not done with yet: then the program
         * may be waiting for credit, and its silence is no pause.
         *
         * @param untold bytes that came and were not told
         */
        boolean isBehind(long untold);

        /** Something could not be taken, on a thread that can tell nobody. */
        void broken(ProtocolException cause);
    }

    private record Part(long seq, OutputFd fd, ByteString data, long weight) {}

    private final Redaction redaction;
    private final Target target;
    private final long[] offsets;
    private volatile boolean redacts; // written by the reading thread: ever had a secret

    private final ReentrantLock lock = new ReentrantLock();
    private final Redactor.@Nullable Stream[] streams = new Redactor.Stream[FDS]; // guarded by lock
    private final List<Part> waiting = new ArrayList<>(); // guarded by lock
    private Redactor used = Redactor.NONE; // guarded by lock
    private long waitingWeight; // guarded by lock
    private long seq; // guarded by lock: of the last output
    private long told; // guarded by lock: the last seq that the target was told
    private long found; // guarded by lock: by streams that are gone
    private long last; // guarded by lock: when output came, in nanoseconds
    private boolean timed; // guarded by lock: whether a pause is waited for
    private boolean over; // guarded by lock

    /**
     * Nothing came yet.
     *
     * @param from where the output is numbered from
     */
    Outlet(Redaction redaction, Position from, Target target) {
        this.redaction = redaction;
        this.target = target;
        this.offsets = new long[] {from.stdoutOffset(), from.stderrOffset(), from.ptyOffset()};
        this.told = from.seq();
    }

    /** Output came; by the reading thread. */
    void output(long newSeq, OutputFd fd, ByteString data) throws ProtocolException {
        Redactor now = redaction.current();
        if (!redacts && now.isEmpty()) {
            told = newSeq; // the timer's thread comes behind the lock
            tell(newSeq, fd, data, data.size());
            return;
        }
        redacts = true;
        lock.lock();
        try {
            if (!now.equals(used)) {
                replace(now);
            }
            seq = newSeq;
            last = System.nanoTime();
            add(fd, redacted(fd, data), data.size());
            if (held() == 0 || waitingWeight >= MOST) {
                letGo();
            }
            time();
        } finally {
            lock.unlock();
        }
    }

    /** Output was lost; by the reading thread. */
    void gap(long newSeq, OutputFd fd, long bytes) throws ProtocolException {
        lock.lock();
        try {
            if (redacts) {
                finish(fd);
                letGo();
            }
            seq = newSeq;
            told = newSeq;
            target.gap(newSeq, fd, offsets[index(fd)], bytes);
            offsets[index(fd)] += bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Lets all go that came before something else of the exec. */
    void settle() throws ProtocolException {
        if (redacts) {
            lock.lock();
            try {
                letGo();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Nothing more comes: lets all go; how many secrets were taken out. */
    long end() throws ProtocolException {
        lock.lock();
        try {
            over = true;
            for (OutputFd fd : List.of(OutputFd.STDOUT, OutputFd.STDERR, OutputFd.PTY)) {
                finish(fd);
            }
            letGo();
            return found;
        } finally {
            lock.unlock();
        }
    }

    /** Somebody else goes on behind what was told. */
    void abandon() {
        lock.lock();
        try {
            over = true;
        } finally {
            lock.unlock();
        }
    }

    // ---- all below under the lock, except tell

    private void replace(Redactor now) {
        for (OutputFd fd : List.of(OutputFd.STDOUT, OutputFd.STDERR, OutputFd.PTY)) {
            finish(fd);
        }
        used = now;
    }

    private ByteString redacted(OutputFd fd, ByteString data) {
        if (used.isEmpty()) {
            return data;
        }
        Redactor.Stream stream = streams[index(fd)];
        if (stream == null) {
            stream = used.stream();
            streams[index(fd)] = stream;
        }
        Parts parts = new Parts();
        stream.write(data.asReadOnlyByteBuffer(), parts);
        return parts.all;
    }

    private void add(OutputFd fd, ByteString data, long weight) {
        waitingWeight += weight;
        Part before = waiting.isEmpty() ? null : waiting.getLast();
        if (before != null && before.fd() == fd) {
            waiting.removeLast();
            waiting.add(new Part(seq, fd, before.data().concat(data), before.weight() + weight));
        } else if (weight > 0 || !data.isEmpty()) {
            waiting.add(new Part(seq, fd, data, weight));
        }
    }

    /** Ends the stream of a descriptor. */
    private void finish(OutputFd fd) {
        Redactor.Stream stream = streams[index(fd)];
        if (stream != null) {
            streams[index(fd)] = null;
            release(stream, fd);
            found += stream.found();
        }
    }

    private void release(Redactor.Stream stream, OutputFd fd) {
        Parts parts = new Parts();
        stream.flush(parts);
        add(fd, parts.all, 0);
    }

    private int held() {
        int held = 0;
        for (Redactor.Stream stream : streams) {
            held += stream == null ? 0 : stream.held();
        }
        return held;
    }

    /** Tells what waits; what is empty waits on, unless its weight is missed. */
    private void letGo() throws ProtocolException {
        long carried = 0;
        OutputFd fd = OutputFd.STDOUT;
        for (Part part : waiting) {
            carried += part.weight();
            fd = part.fd();
            if (!part.data().isEmpty() || carried >= MOST) {
                tellParts(part, carried);
                carried = 0;
            }
        }
        waiting.clear();
        waitingWeight = 0;
        if (carried > 0) {
            add(fd, ByteString.EMPTY, carried);
        }
    }

    /** No part before the last says that the event was taken. */
    private void tellParts(Part part, long weight) throws ProtocolException {
        ByteString data = part.data();
        while (data.size() > MOST) {
            tell(told, part.fd(), data.substring(0, MOST), 0);
            data = data.substring(MOST);
        }
        told = part.seq();
        tell(part.seq(), part.fd(), data, weight);
    }

    private void tell(long as, OutputFd fd, ByteString data, long weight) throws ProtocolException {
        long offset = offsets[index(fd)];
        offsets[index(fd)] = offset + data.size();
        target.output(as, fd, offset, data, weight);
    }

    private static int index(OutputFd fd) {
        return switch (fd) {
            case STDOUT -> 0;
            case STDERR -> 1;
            case PTY, UNKNOWN -> 2;
        };
    }

    // ---- pauses

    private void time() {
        if (!timed && !over && held() > 0) {
            timed = true;
            later(PAUSE_MILLIS * 1_000_000);
        }
    }

    private void later(long nanos) {
        CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, PAUSES).execute(this::pause);
    }

    private void pause() {
        lock.lock();
        try {
            long left = PAUSE_MILLIS * 1_000_000 - (System.nanoTime() - last);
            boolean behind = target.isBehind(waitingWeight);
            if (over || left > 0 || behind) {
                timed = !over;
                if (timed) {
                    later(left > 0 ? left : PAUSE_MILLIS * 1_000_000);
                }
                return;
            }
            timed = false;
            for (OutputFd fd : List.of(OutputFd.STDOUT, OutputFd.STDERR, OutputFd.PTY)) {
                Redactor.Stream stream = streams[index(fd)];
                if (stream != null) {
                    release(stream, fd);
                }
            }
            letGo();
        } catch (ProtocolException e) {
            target.broken(e);
        } finally {
            lock.unlock();
        }
    }

    /** Collects copies. */
    private static final class Parts implements Consumer<ByteBuffer> {
        private ByteString all = ByteString.EMPTY;

        @Override
        public void accept(ByteBuffer part) {
            all = all.concat(ByteString.copyFrom(part));
        }
    }
}
