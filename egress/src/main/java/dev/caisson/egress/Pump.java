package dev.caisson.egress;

import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Carries bytes between a program inside and a server outside until both directions ended. */
final class Pump {
    /** Enough for what is idle or interactive; more is taken from the pool while much comes. */
    private static final int SMALL = 4 << 10;

    private final Inside inside;
    private final Duplex outside;
    private final BufferPool buffers;
    private final AtomicReference<@Nullable IOException> failed = new AtomicReference<>();

    Pump(Inside inside, Duplex outside, BufferPool buffers) {
        this.inside = inside;
        this.outside = outside;
        this.buffers = buffers;
    }

    /**
     * Something that is done before the first byte goes out, while those of the other side come in.
     */
    interface Look {
        void look() throws IOException;
    }

    /** Carries; a failure of one direction ends both. */
    void run(Look first) throws IOException {
        Thread down =
                Thread.ofVirtual().name(Thread.currentThread().getName()).unstarted(this::down);
        down.start();
        try {
            first.look();
            inside.drainTo(outside);
            outside.shutdownOutput();
        } catch (IOException e) {
            fail(e);
        } finally {
            join(down);
        }
        IOException failure = failed.get();
        if (failure != null) {
            throw failure;
        }
    }

    private void down() {
        try {
            carryDown();
            inside.shutdownOutput();
        } catch (IOException e) {
            fail(e);
        }
    }

    /** The first failure is the reason; the other direction fails of it. */
    private void fail(IOException failure) {
        if (failed.compareAndSet(null, failure)) {
            inside.fail(reason(failure));
            outside.close();
        }
    }

    private static ResetReason reason(IOException failure) {
        return switch (failure) {
            case DeniedException denied -> ResetReason.RESET_DENIED;
            case ResetException reset -> reset.reason();
            default -> ResetReason.RESET_ABORTED;
        };
    }

    private void carryDown() throws IOException {
        ByteBuffer small = ByteBuffer.allocate(SMALL);
        @Nullable ByteBuffer large = null;
        try {
            while (true) {
                ByteBuffer buffer = large == null ? small : large;
                int read = outside.read(buffer.clear());
                if (read < 0) {
                    return;
                }
                inside.write(buffer.flip());
                if (large == null && read == SMALL) {
                    large = buffers.takeWide();
                } else if (large != null && read < SMALL) {
                    buffers.give(large);
                    large = null;
                }
            }
        } finally {
            if (large != null) {
                buffers.give(large);
            }
        }
    }

    private static void join(Thread thread) {
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
