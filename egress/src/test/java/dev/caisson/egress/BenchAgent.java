package dev.caisson.egress;

import com.google.protobuf.ByteString;
import dev.caisson.policy.IpAddress;
import dev.caisson.wire.egress.AgentFrame;
import dev.caisson.wire.egress.Close;
import dev.caisson.wire.egress.Credit;
import dev.caisson.wire.egress.GatewayFrame;
import dev.caisson.wire.egress.Open;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;

/** An agent that makes no objects of data, so that the gateway is measured and not this. */
final class BenchAgent implements AutoCloseable {
    private final FakeAgent agent;
    private int last;

    BenchAgent(Path folder, String sandbox) throws IOException {
        agent = FakeAgent.introduced(folder, Rig.OWNER, sandbox);
        if (!agent.admitted().getAdmitted()) {
            throw new IOException("not admitted");
        }
        agent.write(
                AgentFrame.newBuilder()
                        .setHello(dev.caisson.wire.egress.AgentHello.newBuilder().setVersion(1))
                        .build());
        agent.input.next();
    }

    private int open(IpAddress address, int port) throws IOException {
        int id = ++last;
        ByteString bytes = ByteString.copyFrom(address.toInet().getAddress());
        agent.write(frame(id).setOpen(Open.newBuilder().setAddress(bytes).setPort(port)).build());
        return id;
    }

    private static AgentFrame.Builder frame(int id) {
        return AgentFrame.newBuilder().setStream(id);
    }

    private void data(int id, ByteBuffer bytes) throws IOException {
        int size = bytes.remaining();
        ByteBuffer header = ByteBuffer.allocateDirect(20).position(4);
        header.put((byte) 8);
        varint(header, id);
        header.put((byte) 0x22);
        varint(header, size);
        header.putInt(0, header.position() - 4 + size).flip();
        ByteBuffer[] all = {header, bytes};
        while (bytes.hasRemaining()) {
            agent.socket.write(all);
        }
    }

    private static void varint(ByteBuffer into, int value) {
        int rest = value;
        while (rest > 0x7F) {
            into.put((byte) ((rest & 0x7F) | 0x80));
            rest >>>= 7;
        }
        into.put((byte) rest);
    }

    double up(IpAddress address, int port, long bytes) throws IOException {
        int id = open(address, port);
        data(id, ByteBuffer.wrap(new byte[] {'u'}));
        ByteBuffer buffer = ByteBuffer.allocateDirect(BufferPool.SIZE);
        long window = AgentStream.WINDOW - 1;
        long begun = System.nanoTime();
        for (long sent = 0; sent < bytes; sent += BufferPool.SIZE) {
            while (window < BufferPool.SIZE) {
                window += GatewayFrame.parseFrom(next()).getCredit().getBytes();
            }
            data(id, buffer.clear());
            window -= BufferPool.SIZE;
        }
        agent.write(frame(id).setClose(Close.getDefaultInstance()).build());
        awaitClose();
        return (System.nanoTime() - begun) / 1e9;
    }

    double down(IpAddress address, int port, long bytes) throws IOException {
        int id = open(address, port);
        data(id, ByteBuffer.wrap(new byte[] {'d'}));
        long begun = System.nanoTime();
        long got = 0;
        int owed = 0;
        while (got < bytes) {
            int size = dataSize(next());
            got += size;
            owed += size;
            if (owed >= AgentStream.WINDOW / 4) {
                agent.write(frame(id).setCredit(Credit.newBuilder().setBytes(owed)).build());
                owed = 0;
            }
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        agent.write(frame(id).setClose(Close.getDefaultInstance()).build());
        awaitClose();
        return seconds;
    }

    /** The bytes of a frame of data; 0 for another. */
    private static int dataSize(ByteBuffer frame) {
        frame.get();
        varint(frame);
        return frame.get() == 0x2A ? varint(frame) : 0;
    }

    private static int varint(ByteBuffer from) {
        int value = 0;
        byte b;
        int shift = 0;
        do {
            b = from.get();
            value |= (b & 0x7F) << shift;
            shift += 7;
        } while (b < 0);
        return value;
    }

    private void awaitClose() throws IOException {
        GatewayFrame frame;
        do {
            frame = GatewayFrame.parseFrom(next());
        } while (!frame.hasClose() && !frame.hasReset());
    }

    private ByteBuffer next() throws IOException {
        ByteBuffer frame = agent.input.next();
        if (frame == null) {
            throw new IOException("closed");
        }
        return frame;
    }

    /** Open, one byte each way, close: 64 at a time. */
    double connections(IpAddress address, int port, int count) throws IOException {
        long begun = System.nanoTime();
        int started = 0;
        int done = 0;
        while (done < count) {
            while (started < count && started - done < 64) {
                int id = open(address, port);
                data(id, ByteBuffer.wrap(new byte[] {'e'}));
                agent.write(frame(id).setClose(Close.getDefaultInstance()).build());
                started++;
            }
            GatewayFrame frame = GatewayFrame.parseFrom(next());
            if (frame.hasClose()) {
                done++;
            } else if (frame.hasReset()) {
                throw new IOException(frame.toString());
            }
        }
        return count / ((System.nanoTime() - begun) / 1e9);
    }

    double latency(IpAddress address, int port) throws IOException {
        long[] nanos = new long[500];
        for (int i = 0; i < nanos.length; i++) {
            long begun = System.nanoTime();
            int id = open(address, port);
            data(id, ByteBuffer.wrap(new byte[] {'e'}));
            while (!GatewayFrame.parseFrom(next()).hasData()) {
                // Opened comes first
            }
            nanos[i] = System.nanoTime() - begun;
            agent.write(frame(id).setClose(Close.getDefaultInstance()).build());
            awaitClose();
        }
        Arrays.sort(nanos);
        return nanos[nanos.length / 2] / 1e3;
    }

    @Override
    public void close() throws IOException {
        agent.close();
    }
}
