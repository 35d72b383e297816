package dev.caisson.egress;

import com.google.protobuf.CodedOutputStream;
import dev.caisson.wire.egress.GatewayFrame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Writes frames to an agent, one at a time and in the order of those who ask: nothing is queued
 * here, whoever has something to say waits with it. An interrupt of a thread that writes would
 * close the channel, so threads of streams are never interrupted; they are woken by closing.
 */
final class ChannelWriter {
    private static final int HEADER = 4 + 1 + 5 + 1 + 5;
    private static final int TAG_STREAM = 1 << 3;
    private static final int TAG_DATA = 5 << 3 | 2;

    private final GatheringByteChannel to;
    // A fair lock: a stream that writes much waits behind each that writes little.
    private final ReentrantLock lock = new ReentrantLock(true);
    // Guarded by lock.
    private final ByteBuffer headers = ByteBuffer.allocateDirect(HEADER * BufferPool.WIDE);

    ChannelWriter(GatheringByteChannel to) {
        this.to = to;
    }

    /** Writes data, as one frame for each {@link BufferPool#SIZE} of at most a wide buffer. */
    void data(int stream, ByteBuffer bytes) throws IOException {
        int frames = Math.ceilDiv(bytes.remaining(), BufferPool.SIZE);
        ByteBuffer[] all = new ByteBuffer[2 * frames];
        lock.lock();
        try {
            headers.clear();
            for (int i = 0; i < frames; i++) {
                int size = Math.min(bytes.remaining(), BufferPool.SIZE);
                all[2 * i] = header(stream, size);
                all[2 * i + 1] = bytes.slice(bytes.position(), size);
                bytes.position(bytes.position() + size);
            }
            while (all[all.length - 1].hasRemaining()) {
                to.write(all);
            }
        } finally {
            lock.unlock();
        }
    }

    private ByteBuffer header(int stream, int size) {
        int start = headers.position();
        headers.position(start + 4);
        headers.put((byte) TAG_STREAM);
        varint(stream);
        headers.put((byte) TAG_DATA);
        varint(size);
        int length = headers.position() - start;
        headers.putInt(start, length - 4 + size);
        return headers.slice(start, length);
    }

    /** Writes any other frame. */
    void frame(GatewayFrame frame) throws IOException {
        ByteBuffer bytes = encode(frame);
        lock.lock();
        try {
            while (bytes.hasRemaining()) {
                to.write(bytes);
            }
        } finally {
            lock.unlock();
        }
    }

    /** A message with its length in front. */
    static ByteBuffer encode(com.google.protobuf.MessageLite message) {
        int size = message.getSerializedSize();
        ByteBuffer bytes = ByteBuffer.allocate(4 + size).putInt(size);
        try {
            CodedOutputStream out = CodedOutputStream.newInstance(bytes);
            message.writeTo(out);
            out.flush();
        } catch (IOException e) {
            throw new IllegalStateException("A buffer of the right size was too small", e);
        }
        return bytes.rewind();
    }

    private void varint(int value) {
        int rest = value;
        while ((rest & ~0x7F) != 0) {
            headers.put((byte) ((rest & 0x7F) | 0x80));
            rest >>>= 7;
        }
        headers.put((byte) rest);
    }
}
