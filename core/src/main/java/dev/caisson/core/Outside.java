package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.OutputFd;
import dev.caisson.wire.agent.ExecReason;

/** Captures what comes out of an exec's outlet, and passes it on. */
final class Outside implements Outlet.Target {
    private final ExecStream exec;
    private final Heard heard;
    private final Delivery delivery;
    private final boolean killOnOutput;
    private boolean killed; // guarded by the outlet's lock, or of the reading thread before it

    /**
     * What is outside of an exec.
     *
     * @param killOnOutput whether more output than is captured kills it
     */
    Outside(ExecStream exec, Heard heard, Delivery delivery, boolean killOnOutput) {
        this.exec = exec;
        this.heard = heard;
        this.delivery = delivery;
        this.killOnOutput = killOnOutput;
    }

    @Override
    public void output(long seq, OutputFd fd, long offset, ByteString data, long weight)
            throws ProtocolException {
        if (heard.append(fd, data) && killOnOutput && !killed) {
            killed = true;
            exec.kill(ExecReason.REASON_OUTPUT);
        }
        delivery.output(seq, fd, offset, data, weight);
    }

    @Override
    public void gap(long seq, OutputFd fd, long offset, long bytes) throws ProtocolException {
        heard.skip(fd, bytes);
        delivery.gap(seq, fd, offset, bytes);
    }

    @Override
    public boolean isBehind(long untold) {
        return exec.unconsumed() > untold;
    }

    @Override
    public void broken(ProtocolException cause) {
        exec.refused(
                CaissonException.of(
                        ErrorCode.ENGINE_FAILED,
                        "The agent sent what cannot be: " + cause.getMessage(),
                        cause));
    }
}
