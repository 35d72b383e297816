package dev.caisson.mcp;

import dev.caisson.v1.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A session over a pair of streams: one message a line, up to 16 MiB.
 *
 * @see <a
 *     href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports">stdio</a>
 */
public final class McpStdio {
    private static final Logger LOG = LoggerFactory.getLogger(McpStdio.class);

    private McpStdio() {}

    /**
     * Serves the process's own standard streams. Whatever else in the program prints goes to
     * standard error from now on, since a foreign line would break the protocol.
     *
     * @param backend closed at the end
     */
    public static void serveProcess(Backend backend) throws IOException {
        OutputStream out = new java.io.FileOutputStream(java.io.FileDescriptor.out);
        System.setOut(System.err);
        serve(System.in, out, backend);
    }

    /**
     * Serves until the end of the input; then what runs is cancelled and the sandboxes of the
     * session are deleted. Neither stream is closed.
     *
     * @param backend closed at the end
     * @throws IOException when the input breaks
     */
    public static void serve(InputStream in, OutputStream out, Backend backend) throws IOException {
        serve(in, out, backend, SessionSettings.defaults());
    }

    /** The same with other settings. */
    public static void serve(
            InputStream in, OutputStream out, Backend backend, SessionSettings settings)
            throws IOException {
        Lines lines = new Lines(out);
        try (McpSession session = new McpSession(backend, settings)) {
            LineReader reader = new LineReader(in, RpcReader.MAX_BYTES);
            for (LineReader.Line line = reader.next();
                    line != null && !lines.broken;
                    line = reader.next()) {
                take(session, line, lines);
            }
        }
    }

    private static void take(McpSession session, LineReader.Line line, Lines lines) {
        if (line.tooLong()) {
            String text = "A message has at most " + RpcReader.MAX_BYTES + " bytes.";
            lines.send(Rpc.error(null, Rpc.INVALID_REQUEST, text));
            return;
        }
        if (blank(line.bytes())) {
            return;
        }
        RpcReader.Batch batch = RpcReader.read(line.bytes());
        if (batch.batch() && !session.takesBatches()) {
            String text = "This version of the protocol has no batches.";
            lines.send(Rpc.error(null, Rpc.INVALID_REQUEST, text));
            return;
        }
        batch.messages().forEach(message -> session.receive(message, lines));
    }

    private static boolean blank(byte[] bytes) {
        for (byte octet : bytes) {
            if (octet != ' ' && octet != '\t') {
                return false;
            }
        }
        return true;
    }

    /** Writes a message a line; a client that no longer reads ends the session. */
    private static final class Lines implements Outbox {
        private final OutputStream out;
        private volatile boolean broken;

        Lines(OutputStream out) {
            this.out = out;
        }

        @Override
        public void send(ObjectNode message) {
            byte[] line = Json.bytes(message);
            synchronized (this) {
                try {
                    out.write(line);
                    out.write('\n');
                    out.flush();
                } catch (IOException e) {
                    if (!broken) {
                        LOG.info("the client does not read any more");
                    }
                    broken = true;
                }
            }
        }
    }
}
