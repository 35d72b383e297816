package dev.caisson.egress;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A connection as both sides of the gateway see it: a program inside, a server outside, TLS on top
 * of either. Blocking, on virtual threads: one reader and one writer at a time.
 */
interface Duplex extends Closeable {
    /**
     * Reads at least one byte.
     *
     * @return how many; −1 at the end of that direction
     * @throws IOException when the connection was reset
     */
    int read(ByteBuffer into) throws IOException;

    /** Writes all of it; waits while the other side takes nothing. */
    void write(ByteBuffer bytes) throws IOException;

    /** Nothing more is written. */
    void shutdownOutput() throws IOException;

    /** Cuts it; may be called by any thread, wakes reader and writer. */
    @Override
    void close();
}
