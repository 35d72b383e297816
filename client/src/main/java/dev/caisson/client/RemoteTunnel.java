package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * A TCP connection into a sandbox, over a WebSocket of binary frames; an empty one is the end of
 * file of its direction.
 */
final class RemoteTunnel implements Tunnel {
    private static final int CHUNK = 64 << 10;

    private final Socket socket;
    private final Input input = new Input();
    private final Output output = new Output();

    private RemoteTunnel(Socket socket) {
        this.socket = socket;
    }

    static RemoteTunnel open(Http http, String sandbox, int port) {
        if (port < 1 || port > 65_535) {
            throw CaissonException.invalid("port", "A port is 1 to 65535.");
        }
        try {
            return new RemoteTunnel(
                    Socket.open(
                            http,
                            Call.get(
                                    "v1",
                                    "sandboxes",
                                    sandbox,
                                    "ports",
                                    Integer.toString(port),
                                    "tcp")));
        } catch (CaissonException e) {
            throw e.code() == ErrorCode.NOT_FOUND
                    ? CaissonException.of(
                                    ErrorCode.NOT_FOUND,
                                    "Nothing listens on port "
                                            + port
                                            + " of the sandbox "
                                            + sandbox
                                            + ", or there is no such sandbox.",
                                    e)
                            .withRemedy("Start the program that is to listen there, and try again.")
                    : e;
        }
    }

    @Override
    public InputStream input() {
        return input;
    }

    @Override
    public OutputStream output() {
        return output;
    }

    @Override
    public void close() {
        socket.close();
    }

    private final class Input extends InputStream {
        private byte[] bytes = new byte[0];
        private int at;
        private boolean ended;

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            while (at == bytes.length) {
                if (ended) {
                    return -1;
                }
                Socket.Frame frame = socket.next();
                byte[] came = frame.bytes();
                if (frame.isEnd() || (came != null && came.length == 0)) {
                    ended = true;
                    return -1;
                }
                bytes = came == null ? new byte[0] : came;
                at = 0;
            }
            int count = Math.min(length, bytes.length - at);
            System.arraycopy(bytes, at, target, offset, count);
            at += count;
            return count;
        }
    }

    private final class Output extends OutputStream {
        private boolean closed;

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            if (closed) {
                throw new IOException("The tunnel's output is closed.");
            }
            for (int at = 0; at < length; at += CHUNK) {
                socket.send(bytes, offset + at, Math.min(CHUNK, length - at));
            }
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                closed = true;
                socket.send(new byte[0], 0, 0);
            }
        }
    }
}
