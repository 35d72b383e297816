package dev.caisson.egress;

import com.google.protobuf.ByteString;
import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.Close;
import dev.caisson.wire.egress.Credit;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Reset;
import dev.caisson.wire.egress.ResetReason;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A connection of a program inside. */
final class FakeStream {
    final FakeAgent agent;
    final int id;
    final BlockingQueue<GatewayFrame> heard = new LinkedBlockingQueue<>();
    private long window = AgentStream.WINDOW;

    FakeStream(FakeAgent agent, int id) {
        this.agent = agent;
        this.id = id;
    }

    void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    void send(byte[] bytes) throws IOException {
        for (int at = 0; at < bytes.length; at += BufferPool.SIZE) {
            int size = Math.min(BufferPool.SIZE, bytes.length - at);
            agent.write(frame().setData(ByteString.copyFrom(bytes, at, size)).build());
        }
    }

    void end() throws IOException {
        agent.write(frame().setClose(Close.getDefaultInstance()).build());
    }

    void reset() throws IOException {
        agent.write(
                frame().setReset(Reset.newBuilder().setReason(ResetReason.RESET_ABORTED)).build());
    }

    void credit(int bytes) throws IOException {
        agent.write(frame().setCredit(Credit.newBuilder().setBytes(bytes)).build());
    }

    private AgentFrame.Builder frame() {
        return AgentFrame.newBuilder().setStream(id);
    }

    GatewayFrame next() throws Exception {
        GatewayFrame frame = heard.poll(20, TimeUnit.SECONDS);
        if (frame == null || frame.getBodyCase() == GatewayFrame.BodyCase.BODY_NOT_SET) {
            throw new IOException(frame == null ? "silence" : "the channel ended");
        }
        return frame;
    }

    /** Reads until this text was heard. */
    String readUntil(String text) throws Exception {
        StringBuilder all = new StringBuilder();
        while (all.indexOf(text) < 0) {
            GatewayFrame frame = next();
            switch (frame.getBodyCase()) {
                case DATA -> {
                    all.append(frame.getData().toString(StandardCharsets.ISO_8859_1));
                    credit(frame.getData().size());
                }
                case OPENED, CREDIT -> window += frame.getCredit().getBytes();
                default -> throw new IOException(frame.getBodyCase() + " after: " + all);
            }
        }
        return all.toString();
    }

    /** Reads to the end of that direction. */
    byte[] readAll() throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (true) {
            GatewayFrame frame = next();
            switch (frame.getBodyCase()) {
                case DATA -> {
                    frame.getData().writeTo(all);
                    if (!frame.getData().isEmpty()) {
                        credit(frame.getData().size());
                    }
                }
                case CLOSE -> {
                    return all.toByteArray();
                }
                case OPENED, CREDIT -> window += frame.getCredit().getBytes();
                default -> throw new IOException(frame.toString());
            }
        }
    }

    /** Waits for the reset; data before it is passed over. */
    ResetReason resetReason() throws Exception {
        while (true) {
            GatewayFrame frame = next();
            if (frame.hasReset()) {
                return frame.getReset().getReason();
            }
            if (frame.hasClose()) {
                throw new IOException("ended in order");
            }
        }
    }

    /** Sends all of it as the window allows, and reads nothing but credits. */
    void sendWithinWindow(byte[] bytes) throws Exception {
        int at = 0;
        while (at < bytes.length) {
            while (window == 0) {
                GatewayFrame frame = next();
                window += frame.getCredit().getBytes();
                if (frame.hasReset()) {
                    throw new IOException(frame.toString());
                }
            }
            int size = (int) Math.min(window, Math.min(BufferPool.SIZE, bytes.length - at));
            agent.write(frame().setData(ByteString.copyFrom(bytes, at, size)).build());
            window -= size;
            at += size;
        }
    }
}
