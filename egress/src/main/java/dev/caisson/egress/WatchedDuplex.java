package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A connection to the outside whose end is told, once however often it is closed. */
final class WatchedDuplex implements Duplex {
    private final Duplex duplex;
    private final Consumer<Duplex> over;
    private final AtomicBoolean closed = new AtomicBoolean();

    WatchedDuplex(Duplex duplex, Consumer<Duplex> over) {
        this.duplex = duplex;
        this.over = over;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        return duplex.read(into);
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        duplex.write(bytes);
    }

    @Override
    public void shutdownOutput() throws IOException {
        duplex.shutdownOutput();
    }

    @Override
    public void close() {
        duplex.close();
        if (closed.compareAndSet(false, true)) {
            over.accept(this);
        }
    }
}
