package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;
import dev.caisson.api.OutputFd;
import dev.caisson.core.ExecSink;
import java.nio.ByteBuffer;

/** Takes what nobody needs any more. */
final class Deaf implements ExecSink {
    static final Deaf SINK = new Deaf();

    private Deaf() {}

    @Override
    public void started(long seq, long pid) {}

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteBuffer data) {}

    @Override
    public void gap(long seq, OutputFd fd, long offset, long bytes) {}

    @Override
    public void limitHit(long seq, Limit limit) {}

    @Override
    public void ended(long seq, ExecResult result) {}

    @Override
    public void failed(CaissonException cause) {}
}
