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

    ScriptedChannel(byte[] script) {
        super(SelectorProvider.provider());
        this.script = ByteBuffer.wrap(script);
    }

    void play() {
        begun.countDown();
    }

    @Override
    public int read(ByteBuffer target) {
        try {
            begun.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return -1;
        }
        if (!script.hasRemaining() || !isOpen()) {
            return -1;
        }
        int size = Math.min(target.remaining(), script.remaining());
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
