package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import org.jspecify.annotations.Nullable;

/**
 * Frames of a connection: a 4-byte big-endian length and that many bytes. The buffer is small while
 * little comes and large while much does. One thread.
 */
final class FrameInput {
    private static final int SMALL = 16 << 10;
    private static final int LARGE = 512 << 10;
    private static final int QUIET = 64; // small reads in a row

    private final ReadableByteChannel from;
    private final int max;
    private ByteBuffer buffer = ByteBuffer.allocateDirect(SMALL).flip();
    private int quiet;

    /**
     * Frames of a channel.
     *
     * @param max bytes of a frame
     */
    FrameInput(ReadableByteChannel from, int max) {
        this.from = from;
        this.max = max;
    }

    /**
     * The next frame, good until the next call.
     *
     * @return null at the end, which is in order only between frames
     * @throws IOException when it is longer than allowed, empty or cut off
     */
    @Nullable ByteBuffer next() throws IOException {
        if (!fill(4)) {
            return null;
        }
        int length = buffer.getInt();
        if (length <= 0 || length > max) {
            throw new IOException("A frame of " + Integer.toUnsignedString(length) + " bytes");
        }
        if (!fill(length)) {
            throw new IOException("The connection ended in a frame");
        }
        ByteBuffer frame = buffer.slice(buffer.position(), length);
        buffer.position(buffer.position() + length);
        return frame;
    }

    private boolean fill(int bytes) throws IOException {
        if (buffer.remaining() >= bytes) {
            return true;
        }
        makeRoom(bytes);
        while (buffer.position() < bytes) {
            int read = from.read(buffer);
            if (read < 0) {
                boolean between = buffer.position() == 0;
                buffer.flip();
                if (between) {
                    return false;
                }
                throw new IOException("The connection ended in a frame");
            }
            quiet = read >= SMALL / 2 ? 0 : quiet + 1;
        }
        buffer.flip();
        return true;
    }

    /** Moves what is left to the front of a buffer of the right size. */
    private void makeRoom(int bytes) {
        int capacity = buffer.capacity();
        int wanted = capacity;
        if (bytes > capacity || (capacity == SMALL && quiet == 0 && buffer.limit() == capacity)) {
            wanted = Math.max(bytes, Math.min(LARGE, 4 * max));
        } else if (quiet > QUIET && Math.max(bytes, buffer.remaining()) <= SMALL) {
            wanted = SMALL;
        }
        if (wanted == capacity) {
            buffer.compact();
        } else {
            buffer = ByteBuffer.allocateDirect(wanted).put(buffer);
        }
    }
}
