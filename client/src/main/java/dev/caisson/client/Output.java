package dev.caisson.client;

import dev.caisson.api.CapturedOutput;
import dev.caisson.api.OutputFd;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;

/**
 * The bytes of one descriptor in the order that the program wrote them, each once, whatever the
 * stream brings again; the first of them are kept. One thread.
 */
final class Output {
    /** Most bytes that a listener gets in one call. */
    private static final int CHUNK = 256 << 10;

    /** Takes bytes, and gaps between them. */
    interface Target {
        void output(OutputFd fd, ByteBuffer bytes);

        void gap(OutputFd fd, long bytes);
    }

    private final OutputFd fd;
    private final long keep;
    private final Target target;
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private long next;
    private boolean whole = true;

    Output(OutputFd fd, long keep, Target target) {
        this.fd = fd;
        this.keep = keep;
        this.target = target;
    }

    /**
     * Bytes that came.
     *
     * @param offset of the first; negative: not told, so it is the next
     */
    void bytes(long offset, byte[] bytes) {
        long at = offset < 0 ? next : offset;
        if (at > next) {
            gap(next, at - next);
        }
        long known = next - at;
        if (known >= bytes.length) {
            return;
        }
        next = at + bytes.length;
        int from = (int) known;
        if (whole && kept.size() < keep) {
            kept.write(bytes, from, (int) Math.min(keep - kept.size(), bytes.length - from));
        }
        for (; from < bytes.length; from += CHUNK) {
            target.output(
                    fd,
                    ByteBuffer.wrap(bytes, from, Math.min(CHUNK, bytes.length - from))
                            .slice()
                            .asReadOnlyBuffer());
        }
    }

    /** Bytes that are gone for ever. */
    void gap(long offset, long bytes) {
        long end = (offset < 0 ? next : offset) + Math.max(0, bytes);
        if (end > next) {
            long missing = end - next;
            next = end;
            whole = false;
            target.gap(fd, missing);
        }
    }

    /** Bytes so far, with those that are gone. */
    long position() {
        return next;
    }

    /** What was kept here, or what the server kept where something is missing here. */
    CapturedOutput captured(CapturedOutput atServer) {
        return whole
                ? new CapturedOutput(kept.toByteArray(), Math.max(next, kept.size()))
                : atServer;
    }
}
