package dev.caisson.mcp;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** The beginning of an output, kept while its program runs. Safe for use by several threads. */
final class Tape {
    private static final int LIMIT = 1 << 20;

    // Guarded by this.
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private long total;

    synchronized void add(ByteBuffer bytes) {
        total += bytes.remaining();
        byte[] part = new byte[Math.min(bytes.remaining(), LIMIT - kept.size())];
        bytes.duplicate().get(part);
        kept.writeBytes(part);
    }

    synchronized Work.Piece piece(long offset, int length) {
        byte[] all = kept.toByteArray();
        int from = (int) Math.min(offset, all.length);
        int to = (int) Math.min((long) from + length, all.length);
        return new Work.Piece(Arrays.copyOfRange(all, from, to), from);
    }

    synchronized dev.caisson.api.CapturedOutput captured() {
        return new dev.caisson.api.CapturedOutput(kept.toByteArray(), total);
    }
}
