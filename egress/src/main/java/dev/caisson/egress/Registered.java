package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;

/** A connection to the outside that is in a set while it is open, so that it can be cut. */
final class Registered implements Duplex {
    private final Duplex duplex;
    private final Set<Duplex> open;

    Registered(Duplex duplex, Set<Duplex> open) {
        this.duplex = duplex;
        this.open = open;
        open.add(this);
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
        open.remove(this);
    }
}
