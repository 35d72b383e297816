package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.ExecService;
import dev.caisson.v1.Json;
import dev.caisson.v1.PtyJson;
import dev.caisson.v1.StreamItem;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The terminal of a command as a WebSocket. The command lives on when the socket goes. */
final class Terminal extends Socket {
    private final ExecService execs;
    private final Caller caller;
    private final String exec;

    /** A text frame of the client: one of the two. */
    public record Control(@Nullable PtyJson resize, @Nullable Integer signal) {}

    Terminal(ExecService execs, Caller caller, String exec, Setup setup) {
        super(setup);
        this.execs = execs;
        this.caller = caller;
        this.exec = exec;
    }

    @Override
    void outbound() throws IOException {
        execs.follow(caller, exec, null, this::item);
    }

    private void item(StreamItem item) throws IOException {
        try {
            switch (item.type()) {
                case "stdout", "stderr", "pty" -> {
                    byte[] bytes = bytes(item);
                    send(bytes, bytes.length);
                }
                default -> send(Json.write(item));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("The terminal was closed.");
        }
    }

    private static byte[] bytes(StreamItem item) {
        if (item.text() != null) {
            return item.text().getBytes(StandardCharsets.UTF_8);
        }
        return item.base64() == null ? new byte[0] : Base64.getDecoder().decode(item.base64());
    }

    @Override
    void inbound(Frame frame) throws IOException {
        byte[] bytes = frame.bytes;
        String text = frame.text;
        if (bytes != null) {
            execs.input(caller, exec, new ByteArrayInputStream(bytes), false);
        } else if (text != null) {
            control(Json.request(text.getBytes(StandardCharsets.UTF_8), Control.class));
        }
    }

    private void control(Control control) {
        PtyJson size = control.resize();
        Integer signal = control.signal();
        if (size != null) {
            execs.resize(caller, exec, size);
        }
        if (signal != null) {
            if (signal < 1 || signal > 64) {
                throw CaissonException.invalid("signal", "A signal is a number from 1 to 64.");
            }
            execs.signal(caller, exec, signal, false);
        }
    }

    @Override
    void release() {
        // Its threads are interrupted; the command is not ours to end.
    }
}
