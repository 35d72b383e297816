package dev.caisson.egress;

import dev.caisson.wire.egress.ResetReason;
import java.io.IOException;
import java.nio.ByteBuffer;

/** DNS over TCP (RFC 7766): messages with their length in front, one after the other. */
final class DnsTcp {
    private static final int MAX_MESSAGE = 4096;

    private DnsTcp() {}

    static ResetReason serve(AgentStream stream, DnsAnswers dns) throws IOException {
        try {
            stream.opened();
            ByteBuffer length = ByteBuffer.allocate(2);
            while (fill(stream, length.clear())) {
                int size = length.getShort(0) & 0xFFFF;
                ByteBuffer message = ByteBuffer.allocate(size);
                if (size > MAX_MESSAGE || !fill(stream, message)) {
                    return ResetReason.RESET_ABORTED;
                }
                byte[] answer = dns.answer(message.array(), true, true);
                if (answer == null) {
                    return ResetReason.RESET_ABORTED;
                }
                ByteBuffer out = ByteBuffer.allocate(2 + answer.length);
                stream.write(out.putShort((short) answer.length).put(answer).flip());
            }
            stream.shutdownOutput();
            return ResetReason.RESET_ABORTED;
        } catch (ResetException e) {
            return e.reason();
        }
    }

    /** Fills it; false at the end. */
    private static boolean fill(AgentStream stream, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (stream.read(into) < 0) {
                return false;
            }
        }
        return true;
    }
}
