package dev.caisson.egress;

import dev.caisson.wire.egress.GatewayFrame;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Bytes both ways at once on one stream. */
final class BothWays {
    private BothWays() {}

    static void exchange(FakeStream stream, byte[] out, byte[] back) throws Exception {
        Semaphore window = new Semaphore(AgentStream.WINDOW);
        Thread sender = Thread.ofVirtual().start(() -> send(stream, out, window));
        int at = 0;
        while (at < back.length) {
            GatewayFrame frame = stream.next();
            if (frame.hasCredit()) {
                window.release(frame.getCredit().getBytes());
            } else if (frame.hasData()) {
                frame.getData().copyTo(back, at);
                at += frame.getData().size();
                stream.credit(frame.getData().size());
            }
        }
        sender.join(TimeUnit.SECONDS.toMillis(10));
    }

    private static void send(FakeStream stream, byte[] out, Semaphore window) {
        try {
            int part = 32 << 10;
            for (int at = 0; at < out.length; at += part) {
                int size = Math.min(part, out.length - at);
                window.acquire(size);
                stream.send(java.util.Arrays.copyOfRange(out, at, at + size));
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
