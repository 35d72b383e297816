package dev.caisson.egress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/** TLS on a connection. Like every {@link Duplex}: one reader and one writer at a time. */
final class TlsDuplex implements Duplex {
    private final Duplex raw;
    private final SSLEngine engine;
    // Both are ready to be read from; touched by the reader only, once the handshake is over.
    private final ByteBuffer netIn;
    private final ByteBuffer plain;
    private final ReentrantLock writing = new ReentrantLock();
    // Guarded by writing, once the handshake is over.
    private final ByteBuffer netOut;
    private boolean ended;

    private TlsDuplex(Duplex raw, SSLEngine engine) {
        this.raw = raw;
        this.engine = engine;
        int packet = engine.getSession().getPacketBufferSize();
        this.netIn = ByteBuffer.allocate(packet * 2).flip();
        this.netOut = ByteBuffer.allocate(packet * 2);
        this.plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize() * 2).flip();
    }

    /**
     * Shakes hands.
     *
     * @throws SSLException when the other side is not what it should be, or does not speak TLS; it
     *     was sent the alert
     */
    static TlsDuplex handshake(Duplex raw, SSLEngine engine) throws IOException {
        TlsDuplex tls = new TlsDuplex(raw, engine);
        engine.beginHandshake();
        try {
            tls.shake();
        } catch (SSLException e) {
            tls.sendAlert(e);
            throw e;
        }
        return tls;
    }

    /** The protocol that was agreed on; empty: none. */
    String protocol() {
        String name = engine.getApplicationProtocol();
        return name == null ? "" : name;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        while (true) {
            if (plain.hasRemaining()) {
                return move(plain, into);
            }
            boolean direct = into.remaining() >= engine.getSession().getApplicationBufferSize();
            ByteBuffer target = direct ? into : plain.clear();
            int before = target.position();
            SSLEngineResult result;
            try {
                result = engine.unwrap(netIn, target);
            } finally {
                if (!direct) {
                    plain.flip();
                }
            }
            afterUnwrap(result);
            if (direct && target.position() > before) {
                return target.position() - before;
            }
            if (result.getStatus() == Status.CLOSED) {
                return plain.hasRemaining() ? move(plain, into) : -1;
            }
            if (result.getStatus() == Status.BUFFER_UNDERFLOW && !fill()) {
                return -1;
            }
        }
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        writing.lock();
        try {
            while (bytes.hasRemaining()) {
                if (wrap(bytes).getStatus() == Status.CLOSED) {
                    throw new SSLException("The connection is closed.");
                }
            }
        } finally {
            writing.unlock();
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        writing.lock();
        try {
            if (!ended) {
                ended = true;
                engine.closeOutbound();
                drain();
                raw.shutdownOutput();
            }
        } finally {
            writing.unlock();
        }
    }

    @Override
    public void close() {
        raw.close();
    }

    private void shake() throws IOException {
        while (true) {
            switch (engine.getHandshakeStatus()) {
                case NEED_TASK -> tasks();
                case NEED_WRAP -> wrap(ByteBuffer.allocate(0));
                case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> unwrapOnce();
                case FINISHED, NOT_HANDSHAKING -> {
                    return;
                }
            }
        }
    }

    private void unwrapOnce() throws IOException {
        plain.compact();
        SSLEngineResult result;
        try {
            result = engine.unwrap(netIn, plain);
        } finally {
            plain.flip();
        }
        if (result.getStatus() == Status.CLOSED) {
            throw new SSLException("The connection ended in the handshake.");
        }
        if (result.getStatus() == Status.BUFFER_UNDERFLOW && !fill()) {
            throw new SSLException("The connection ended in the handshake.");
        }
    }

    private void afterUnwrap(SSLEngineResult result) throws IOException {
        if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
            tasks();
        }
        // An update of keys is answered by whoever writes next; the reader never waits for a writer
        // that may wait for the reader of the other side.
        if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && writing.tryLock()) {
            try {
                wrap(ByteBuffer.allocate(0));
            } finally {
                writing.unlock();
            }
        }
    }

    private SSLEngineResult wrap(ByteBuffer bytes) throws IOException {
        netOut.clear();
        SSLEngineResult result = engine.wrap(bytes, netOut);
        if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
            tasks();
        }
        netOut.flip();
        if (netOut.hasRemaining()) {
            raw.write(netOut);
        }
        return result;
    }

    private void drain() throws IOException {
        while (!engine.isOutboundDone()) {
            if (wrap(ByteBuffer.allocate(0)).bytesProduced() == 0) {
                return;
            }
        }
    }

    private void sendAlert(SSLException cause) {
        try {
            engine.closeOutbound();
            drain();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    private void tasks() {
        for (Runnable task = engine.getDelegatedTask();
                task != null;
                task = engine.getDelegatedTask()) {
            task.run();
        }
    }

    private boolean fill() throws IOException {
        netIn.compact();
        try {
            return raw.read(netIn) >= 0;
        } finally {
            netIn.flip();
        }
    }

    private static int move(ByteBuffer from, ByteBuffer into) {
        int count = Math.min(from.remaining(), into.remaining());
        into.put(into.position(), from, from.position(), count);
        into.position(into.position() + count);
        from.position(from.position() + count);
        return count;
    }
}
