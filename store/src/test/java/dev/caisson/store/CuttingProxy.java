package dev.caisson.store;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;

/** Passes connections on, and cuts one at its commit when told to. */
final class CuttingProxy implements AutoCloseable {
    /** When to cut. */
    enum Cut {
        NEVER,
        /** The commit does not reach the server. */
        BEFORE_COMMIT,
        /** The server commits, and its answer is lost. */
        AFTER_COMMIT
    }

    private static final String COMMIT = "COMMIT";

    private final AtomicReference<Cut> next = new AtomicReference<>(Cut.NEVER);
    private final ServerSocket door;
    private final int server;

    CuttingProxy(int server) throws IOException {
        this.server = server;
        door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return door.getLocalPort();
    }

    /** Cuts at the next commit. */
    void cut(Cut cut) {
        next.set(cut);
    }

    /** Whether the cut was made. */
    boolean done() {
        return next.get() == Cut.NEVER;
    }

    private void accept() {
        try {
            while (true) {
                Socket client = door.accept();
                Socket behind = new Socket(InetAddress.getLoopbackAddress(), server);
                Thread.ofVirtual().start(() -> pump(client, behind, true));
                Thread.ofVirtual().start(() -> pump(behind, client, false));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void pump(Socket from, Socket to, boolean requests) {
        byte[] buffer = new byte[64 << 10];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                String text = new String(buffer, 0, n, StandardCharsets.ISO_8859_1);
                Cut cut = requests && text.contains(COMMIT) ? next.getAndSet(Cut.NEVER) : Cut.NEVER;
                if (cut == Cut.BEFORE_COMMIT) {
                    return;
                }
                if (cut == Cut.AFTER_COMMIT) {
                    from.shutdownOutput(); // before the answer can pass
                }
                out.write(Arrays.copyOf(buffer, n));
                if (cut == Cut.AFTER_COMMIT) {
                    Thread.sleep(200); // the server hears all of it
                    return;
                }
            }
        } catch (IOException e) {
            // cut, or one side has gone
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() throws IOException {
        door.close();
    }
}
