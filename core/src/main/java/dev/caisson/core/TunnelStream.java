package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.Dial;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A connection to a port inside. It does not survive a broken data channel. */
final class TunnelStream implements AgentClient.Stream, Tunnel {
    private static final long WINDOW = 1 << 20;

    private final AgentClient client;
    private final Transfers transfers;
    private final int port;
    private final long number;
    private final Inflow in;
    private final Outflow out;
    private final CompletableFuture<Boolean> connected = new CompletableFuture<>();
    private final AtomicBoolean outputClosed = new AtomicBoolean();
    private final Input input = new Input();
    private final Output output = new Output();
    private volatile @Nullable CaissonException failure;

    TunnelStream(AgentClient client, Transfers transfers, int port) {
        this.client = client;
        this.transfers = transfers;
        this.port = port;
        this.number = client.newStream();
        this.in = new Inflow(client, number, WINDOW);
        this.out = new Outflow(client, number, 0);
    }

    /** Asks for it and waits. */
    void open() {
        client.open(
                number,
                this,
                ClientFrame.newBuilder()
                        .setDial(Dial.newBuilder().setPort(port).setCreditBytes(WINDOW)));
        try {
            Transfers.join(connected);
        } catch (CaissonException e) {
            transfers.cancel(number);
            throw e;
        }
    }

    @Override
    public InputStream input() {
        return input;
    }

    @Override
    public OutputStream output() {
        return output;
    }

    @Override
    public void close() {
        if (failure == null && (in.open() || !outputClosed.get())) {
            transfers.cancel(number);
        }
        fail(CaissonException.of(ErrorCode.CANCELLED, "The connection was closed here."));
    }

    // ---- from the reading thread

    @Override
    public void frame(AgentFrame frame) throws IOException {
        switch (frame.getBodyCase()) {
            case FILE_CREDIT -> {
                out.grant(frame.getFileCredit().getLimit());
                connected.complete(true);
            }
            case FILE_DATA -> {
                in.data(frame.getFileData());
                forgetWhenOver();
            }
            case ERROR -> {
                client.forget(number);
                fail(
                        AgentErrors.exception(
                                frame.getError(), "The connection to port " + port, false));
            }
            default -> {}
        }
    }

    private void forgetWhenOver() {
        if (!in.open() && outputClosed.get()) {
            client.forget(number);
        }
    }

    @Override
    public void fail(CaissonException cause) {
        if (failure == null) {
            failure = cause;
        }
        connected.completeExceptionally(cause);
        out.stop();
        in.fail(cause);
    }

    private static IOException broken(CaissonException cause) {
        return new IOException(cause.message(), cause);
    }

    private final class Input extends InputStream {
        private ByteString rest = ByteString.EMPTY; // of the reading thread of the caller
        private boolean atEnd; // of the reading thread of the caller

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            if (length == 0) {
                return 0;
            }
            if (rest.isEmpty() && !atEnd) {
                more();
            }
            if (atEnd) {
                return -1;
            }
            int count = Math.min(length, rest.size());
            rest.substring(0, count).copyTo(bytes, offset);
            rest = rest.substring(count);
            return count;
        }

        private void more() throws IOException {
            try {
                rest = in.next();
                atEnd = rest.isEmpty();
            } catch (CaissonException e) {
                throw broken(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted while waiting for port " + port);
            }
        }

        @Override
        public int available() {
            return rest.isEmpty() ? in.available() : rest.size();
        }
    }

    private final class Output extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            if (outputClosed.get()) {
                throw new IOException("This direction of the connection is closed.");
            }
            try {
                if (!out.write(ByteBuffer.wrap(bytes, offset, length))) {
                    CaissonException cause = failure;
                    throw cause == null
                            ? new IOException("The connection to the sandbox broke.")
                            : broken(cause);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("Interrupted while port " + port + " is busy.");
            }
        }

        @Override
        public void close() {
            if (outputClosed.compareAndSet(false, true) && failure == null) {
                out.end();
                forgetWhenOver();
            }
        }
    }
}
