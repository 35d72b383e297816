package dev.caisson.client;

import dev.caisson.v1.Json;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.StreamItem;
import java.io.IOException;
import java.util.Map;
import tools.jackson.core.JacksonException;

/** The terminal of an exec, over a WebSocket: bytes both ways, and items beside them. */
final class Terminal implements AutoCloseable {
    private final Socket socket;

    private Terminal(Socket socket) {
        this.socket = socket;
    }

    static Terminal open(Http http, String exec) {
        return new Terminal(Socket.open(http, Call.get("v1", "execs", exec, "terminal")));
    }

    /**
     * Tells what comes; one thread.
     *
     * @return whether it ended with its last item; otherwise it broke, and the stream knows more
     */
    boolean run(ExecItems items) {
        while (true) {
            Socket.Frame frame;
            try {
                frame = socket.next();
            } catch (IOException e) {
                return false;
            }
            byte[] bytes = frame.bytes();
            String text = frame.text();
            if (bytes != null) {
                items.terminal(bytes);
            } else if (text == null) {
                return false;
            } else if (items.take(parse(text))) {
                return true;
            }
        }
    }

    private static StreamItem parse(String text) {
        try {
            return Json.read(text, StreamItem.class);
        } catch (JacksonException e) {
            throw Failures.malformed(String.valueOf(e.getOriginalMessage()), e);
        }
    }

    void type(byte[] bytes, int offset, int length) throws IOException {
        socket.send(bytes, offset, length);
    }

    void resize(PtyJson size) throws IOException {
        socket.send(Json.write(Map.of("resize", size)));
    }

    /** Cuts it; a program with a terminal goes on without a client. */
    @Override
    public void close() {
        socket.close();
    }
}
