package dev.caisson.mcp;

import dev.caisson.api.ExecListener;
import dev.caisson.api.OutputFd;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Keeps what comes before its target is known, and passes it on from then. */
final class Relay implements ExecListener {
    // Guarded by this.
    private final Tape stdout = new Tape();
    private final Tape stderr = new Tape();
    private @Nullable CaissonWork target;

    @Override
    public synchronized void output(OutputFd fd, ByteBuffer bytes) {
        CaissonWork known = target;
        if (known != null) {
            known.output(fd, bytes);
        } else {
            (fd == OutputFd.STDERR ? stderr : stdout).add(bytes);
        }
    }

    synchronized void to(CaissonWork work) {
        work.output(OutputFd.STDOUT, ByteBuffer.wrap(stdout.captured().bytes()));
        work.output(OutputFd.STDERR, ByteBuffer.wrap(stderr.captured().bytes()));
        target = work;
    }
}
