package dev.caisson.egress;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.caisson.wire.egress.GatewayEvent;
import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads the events of one file of an outbox, which may still grow. One thread. */
final class OutboxCursor implements Closeable {
    private static final int MAX_EVENT = 64 << 10;

    private final DataInputStream in;
    private long position;

    OutboxCursor(Path file) throws IOException {
        in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 16));
    }

    /** The next whole event; null at the end, or where a kill cut one off. */
    @Nullable GatewayEvent next() throws IOException {
        try {
            int length = in.readInt();
            if (length <= 0 || length > MAX_EVENT) {
                return null;
            }
            byte[] bytes = in.readNBytes(length);
            if (bytes.length < length) {
                return null;
            }
            GatewayEvent event = GatewayEvent.parseFrom(bytes);
            position += 4 + length;
            return event;
        } catch (EOFException | InvalidProtocolBufferException e) {
            return null;
        }
    }

    /** Where the last whole event ends. */
    long position() {
        return position;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
