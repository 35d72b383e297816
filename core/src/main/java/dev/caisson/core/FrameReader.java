package dev.caisson.core;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import com.google.protobuf.UnsafeByteOperations;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/**
 * Reads frames: a 4-byte big-endian length and a body. One thread.
 *
 * <p>A body has an array of its own, so that the bytes fields of its message alias it and nothing is copied again; a large
 * body is read straight into that array.
 */
public final class FrameReader {
    private static final int HEADER = 4;
    private static final int BUFFER = 16 << 10;
    private static final int RECURSION = 8;

    private final ReadableByteChannel channel;
    private final int max;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).flip();

    /**
     * A reader of a blocking channel.
     *
     * @param max longest body, in bytes
     */
    public FrameReader(ReadableByteChannel channel, int max) {
        this.channel = channel;
        this.max = max;
    }

    /**
     * The body of the next frame; blocks until it is there.
     *
     * @throws EOFException at the end of the stream, in the middle of a frame or not
     * @throws ProtocolException when the frame is too long
     */
    public ByteString next() throws IOException {
        while (buffer.remaining() < HEADER) {
            buffer.compact();
            int read = channel.read(buffer);
            buffer.flip();
            if (read < 0) {
                throw new EOFException(buffer.hasRemaining() ? "The stream ends within a frame." : "The stream ends.");
            }
        }
        int length = buffer.getInt();
        if (length < 0 || length > max) {
            throw new ProtocolException("A frame of " + Integer.toUnsignedString(length) + " bytes is longer than the " + max
                    + " allowed.");
        }
        return UnsafeByteOperations.unsafeWrap(body(length));
    }

    private byte[] body(int length) throws IOException {
        // Grows with what really came: a header alone costs no memory.
        byte[] body = new byte[Math.min(length, Math.max(buffer.remaining(), BUFFER))];
        int have = Math.min(length, buffer.remaining());
        buffer.get(body, 0, have);
        while (have < length) {
            if (have == body.length) {
                body = java.util.Arrays.copyOf(body, length);
            }
            int read = channel.read(ByteBuffer.wrap(body, have, body.length - have));
            if (read < 0) {
                throw new EOFException("The stream ends within a frame.");
            }
            have += read;
        }
        return body;
    }

    /** The next frame as a message whose bytes fields alias the frame. */
    public <M extends MessageLite> M next(Parser<M> parser) throws IOException {
        return parse(next(), parser);
    }

    /** A body as a message whose bytes fields alias it. */
    public static <M extends MessageLite> M parse(ByteString body, Parser<M> parser) throws ProtocolException {
        try {
            CodedInputStream in = body.newCodedInput();
            in.enableAliasing(true);
            in.setRecursionLimit(RECURSION);
            M message = parser.parseFrom(in);
            in.checkLastTagWas(0);
            return message;
        } catch (InvalidProtocolBufferException e) {
            throw new ProtocolException("A frame does not decode.", e);
        }
    }
}
