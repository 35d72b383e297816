package dev.caisson.egress;

import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** A stream of a program inside, of which some bytes were looked at: they come again. */
final class Inside implements Duplex {
    private final AgentStream stream;
    private byte[] head = new byte[0];
    private int at;

    Inside(AgentStream stream) {
        this.stream = stream;
    }

    /** What was read and is to be read again, before all else. */
    void unread(byte[] bytes) {
        byte[] all = new byte[bytes.length + head.length - at];
        System.arraycopy(bytes, 0, all, 0, bytes.length);
        System.arraycopy(head, at, all, bytes.length, head.length - at);
        head = all;
        at = 0;
    }

    /** Whether something can be read, or never will, within that time. */
    boolean await(long nanos) {
        return at < head.length || stream.await(nanos);
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        if (at == head.length) {
            return stream.read(into);
        }
        int size = Math.min(into.remaining(), head.length - at);
        into.put(head, at, size);
        at += size;
        return size;
    }

    /** Hands everything to the outside until the end, without a copy of our own. */
    void drainTo(Duplex outside) throws IOException {
        if (at < head.length) {
            ByteBuffer rest = ByteBuffer.wrap(head, at, head.length - at);
            outside.write(rest);
            at = head.length;
        }
        ByteBuffer reading = stream.rest();
        if (reading != null) {
            outside.write(reading);
            stream.taken(reading);
        }
        @Nullable ByteBuffer chunk;
        while ((chunk = stream.take()) != null) {
            outside.write(chunk);
            stream.taken(chunk);
        }
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        stream.write(bytes);
    }

    @Override
    public void shutdownOutput() throws IOException {
        stream.shutdownOutput();
    }

    /** Ends it with a reason that the program's side is told. */
    void fail(ResetReason reason) {
        stream.lost(reason, false);
    }

    @Override
    public void close() {
        stream.close();
    }
}
