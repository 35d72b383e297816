package dev.caisson.egress;

import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The bytes of a WebSocket, both ways, until both sides said that was all, or either was cut. What
 * comes back is looked at: a frame cannot be made longer or shorter on its way, so that one with a
 * secret in it cuts the connection.
 */
final class Tunnel {
    private static final int BUFFER = 16 << 10;

    private final Duplex inside;
    private final Duplex outside;
    private final Redactor.Stream watch;
    private final boolean watched;

    Tunnel(Duplex inside, Duplex outside, Redactor redactor) {
        this.inside = inside;
        this.outside = outside;
        this.watch = redactor.stream();
        this.watched = !redactor.isEmpty();
    }

    /**
     * Moves bytes.
     *
     * @return whether a secret came back
     */
    boolean run() {
        AtomicBoolean reflected = new AtomicBoolean();
        Thread up =
                Thread.ofVirtual()
                        .name("egress-websocket")
                        .start(() -> pump(inside, outside, new AtomicBoolean(), false));
        pump(outside, inside, reflected, watched);
        try {
            up.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        inside.close();
        outside.close();
        return reflected.get();
    }

    private void pump(Duplex from, Duplex to, AtomicBoolean reflected, boolean look) {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        try {
            while (from.read(buffer.clear()) >= 0) {
                buffer.flip();
                if (look) {
                    watch.write(buffer.duplicate(), bytes -> {});
                    if (watch.found() > 0) {
                        reflected.set(true);
                        throw new IOException("A secret came back.");
                    }
                }
                to.write(buffer);
            }
            to.shutdownOutput();
        } catch (IOException e) {
            inside.close();
            outside.close();
        }
    }
}
