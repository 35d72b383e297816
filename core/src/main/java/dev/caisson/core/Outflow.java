package dev.caisson.core;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.FileData;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Bytes of one stream towards the agent, as far as it grants them. One writing thread. */
final class Outflow {
    private static final int FILE_DATA_FIELD = ClientFrame.FILE_DATA_FIELD_NUMBER;

    private final AgentClient client;
    private final long number;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private long limit; // guarded by lock
    private boolean stopped; // guarded by lock
    private long sent; // of the writing thread

    /**
     * For a registered stream.
     *
     * @param limit bytes that may be sent before the agent grants any
     */
    Outflow(AgentClient client, long number, long limit) {
        this.client = client;
        this.number = number;
        this.limit = limit;
    }

    /**
     * Sends the rest of a buffer, best a direct one; waits for credit.
     *
     * @return false when it was stopped, or there is no connection
     */
    boolean write(ByteBuffer data) throws InterruptedException {
        int end = data.limit();
        while (data.hasRemaining()) {
            long room = room();
            if (room == 0) {
                return false;
            }
            int size = (int) Math.min(Math.min(Transfers.CHUNK, data.remaining()), room);
            data.limit(data.position() + size);
            if (!client.send(prefix(number, size), data)) {
                return false;
            }
            data.limit(end);
            sent += size;
        }
        return true;
    }

    private long room() throws InterruptedException {
        lock.lock();
        try {
            while (sent >= limit && !stopped) {
                changed.await();
            }
            return stopped ? 0 : limit - sent;
        } finally {
            lock.unlock();
        }
    }

    /** Says that nothing more comes. */
    void end() {
        client.send(
                ClientFrame.newBuilder()
                        .setStream(number)
                        .setFileData(FileData.newBuilder().setLast(true))
                        .build());
    }

    /** The agent takes that many bytes in total, an unsigned number. */
    void grant(long total) {
        lock.lock();
        try {
            limit = Math.max(limit, Wire.positive(total));
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Nothing more is taken. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * The body of a {@code FileData} frame up to its data, which the writer sends without a copy.
     */
    private static byte[] prefix(long number, int size) {
        int inner =
                CodedOutputStream.computeTagSize(FileData.DATA_FIELD_NUMBER)
                        + CodedOutputStream.computeUInt32SizeNoTag(size)
                        + size;
        int length =
                CodedOutputStream.computeUInt64Size(ClientFrame.STREAM_FIELD_NUMBER, number)
                        + CodedOutputStream.computeTagSize(FILE_DATA_FIELD)
                        + CodedOutputStream.computeUInt32SizeNoTag(inner)
                        + inner
                        - size;
        byte[] bytes = new byte[length];
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            out.writeUInt64(ClientFrame.STREAM_FIELD_NUMBER, number);
            out.writeTag(FILE_DATA_FIELD, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeUInt32NoTag(inner);
            out.writeTag(FileData.DATA_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeUInt32NoTag(size);
            out.checkNoSpaceLeft();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes;
    }
}
