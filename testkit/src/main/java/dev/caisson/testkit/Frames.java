package dev.caisson.testkit;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** Plain reading and writing of frames, independent of the code under test. */
public final class Frames {
    private static final int MAX = 1 << 20;

    private Frames() {}

    /** The next frame; null at a clean end. */
    public static <M extends MessageLite> @Nullable M read(SocketChannel channel, Parser<M> parser)
            throws IOException {
        ByteBuffer header = ByteBuffer.allocate(4);
        if (!fill(channel, header)) {
            return null;
        }
        int length = header.flip().getInt();
        if (length < 0 || length > MAX) {
            throw new IOException("a frame of " + length + " bytes");
        }
        ByteBuffer body = ByteBuffer.allocate(length);
        if (!fill(channel, body)) {
            throw new EOFException("within a frame");
        }
        return parser.parseFrom(body.array());
    }

    private static boolean fill(SocketChannel channel, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                if (buffer.position() == 0) {
                    return false;
                }
                throw new EOFException("within a frame");
            }
        }
        return true;
    }

    /** A message as a frame. */
    public static byte[] encode(MessageLite message) {
        byte[] body = message.toByteArray();
        return ByteBuffer.allocate(4 + body.length).putInt(body.length).put(body).array();
    }

    /** Writes bytes whole. */
    public static void write(SocketChannel channel, byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }
}
