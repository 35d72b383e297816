package dev.caisson.core;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;

/** Writes frames to a blocking channel. Callers take turns: one frame at a time. */
public final class FrameWriter {
    private static final int HEADER = 4;

    private final GatheringByteChannel channel;

    /** A writer to a blocking channel. */
    public FrameWriter(GatheringByteChannel channel) {
        this.channel = channel;
    }

    /** Writes one message. */
    public void write(MessageLite message) throws IOException {
        ByteBuffer frame = ByteBuffer.wrap(encode(message));
        while (frame.hasRemaining()) {
            channel.write(frame);
        }
    }

    /** One message as a frame. */
    public static byte[] encode(MessageLite message) throws IOException {
        int length = message.getSerializedSize();
        byte[] frame = new byte[HEADER + length];
        ByteBuffer.wrap(frame).putInt(length);
        CodedOutputStream out = CodedOutputStream.newInstance(frame, HEADER, length);
        message.writeTo(out);
        out.checkNoSpaceLeft();
        return frame;
    }

    /**
     * Writes a frame whose body is a prefix and data, without copying the data.
     *
     * @param prefix the body up to the data
     * @param data read to its end
     */
    void write(byte[] prefix, ByteBuffer data) throws IOException {
        ByteBuffer head = ByteBuffer.allocate(HEADER + prefix.length)
                .putInt(prefix.length + data.remaining())
                .put(prefix)
                .flip();
        ByteBuffer[] parts = {head, data};
        while (data.hasRemaining() || head.hasRemaining()) {
            channel.write(parts);
        }
    }
}
