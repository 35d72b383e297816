package dev.caisson.mcp;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;

/** Keeps a part of what is written to it. */
final class Window extends OutputStream {
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private final int length;
    private long before;

    Window(long offset, int length) {
        this.before = offset;
        this.length = length;
    }

    @Override
    public void write(int octet) {
        write(new byte[] {(byte) octet}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int count) {
        int skip = (int) Math.min(before, count);
        before -= skip;
        kept.write(bytes, from + skip, Math.min(count - skip, length - kept.size()));
    }

    byte[] bytes() {
        return kept.toByteArray();
    }
}
