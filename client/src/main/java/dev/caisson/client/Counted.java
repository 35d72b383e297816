package dev.caisson.client;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongConsumer;

/** Counts what is read; closing it leaves the stream beneath open. One thread. */
final class Counted extends FilterInputStream {
    private final LongConsumer progress;
    private long bytes;

    Counted(InputStream stream, LongConsumer progress) {
        super(stream);
        this.progress = progress;
    }

    long bytes() {
        return bytes;
    }

    @Override
    public int read() throws IOException {
        int b = in.read();
        count(b < 0 ? 0 : 1);
        return b;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        int count = in.read(target, offset, length);
        count(Math.max(0, count));
        return count;
    }

    private void count(int more) {
        bytes += more;
        progress.accept(bytes);
    }

    @Override
    public void close() {}
}
