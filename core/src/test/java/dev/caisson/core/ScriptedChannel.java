package dev.caisson.core;

import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** A channel that gives the bytes of a script once it is told to, then its end, and takes all. */
final class ScriptedChannel extends SocketChannel {
    private final ByteBuffer script;
    private final CountDownLatch begun = new CountDownLatch(1);

    private final int prelude;

    /**
     * One with a script.
     *
     * @param prelude bytes of it that are there before {@link #play}
     */
    ScriptedChannel(byte[] script, int prelude) {
        super(SelectorProvider.provider());
        this.script = ByteBuffer.wrap(script);
        this.prelude = prelude;
    }

    void play() {
        begun.countDown();
    }

    @Override
    public int read(ByteBuffer target) {
        if (script.position() < prelude) {
            return give(target, prelude - script.position());
        }
        try {
            begun.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return -1;
        }
        if (!script.hasRemaining() || !isOpen()) {
            return -1;
        }
        return give(target, script.remaining());
    }

    private int give(ByteBuffer target, int most) {
        int size = Math.min(target.remaining(), most);
        target.put(script.slice(script.position(), size));
        script.position(script.position() + size);
        return size;
    }

    @Override
    public long read(ByteBuffer[] targets, int offset, int length) {
        return read(targets[offset]);
    }

    @Override
    public int write(ByteBuffer source) {
        int size = source.remaining();
        source.position(source.limit());
        return size;
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        long size = 0;
        for (int i = offset; i < offset + length; i++) {
            size += write(sources[i]);
        }
        return size;
    }

    @Override
    protected void implCloseSelectableChannel() {
        begun.countDown();
    }

    @Override
    protected void implConfigureBlocking(boolean block) {}

    @Override
    public boolean isConnected() {
        return isOpen();
    }

    @Override
    public SocketChannel bind(SocketAddress local) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> SocketChannel setOption(SocketOption<T> name, T value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> T getOption(SocketOption<T> name) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Set.of();
    }

    @Override
    public SocketChannel shutdownInput() {
        throw new UnsupportedOperationException();
    }

    @Override
    public SocketChannel shutdownOutput() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket socket() {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isConnectionPending() {
        return false;
    }

    @Override
    public boolean connect(SocketAddress remote) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean finishConnect() {
        return true;
    }

    @Override
    public @Nullable SocketAddress getRemoteAddress() {
        return null;
    }

    @Override
    public @Nullable SocketAddress getLocalAddress() {
        return null;
    }
}
