package dev.caisson.egress;

import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressLimits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/**
 * How fast the gateway is: bytes per second of one connection each way beside a direct one, short
 * connections per second, and what a round trip costs more. Run by hand, alone on the machine.
 */
final class GatewayBench {
    private static final long BYTES = 1L << 30;
    private static final int CONNECTIONS = 10_000;
    private static final int BUFFER = 64 << 10;
    private static double before;

    private GatewayBench() {}

    public static void main(String[] args) throws Exception {
        try (Rig rig = Rig.started();
                ServerSocket sink = new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1"))) {
            Thread.ofPlatform().daemon().start(() -> accept(sink));
            EgressLimits limits = new EgressLimits(null, null, 512, 100_000, null);
            rig.client()
                    .put(
                            "bench",
                            Rig.limits(rig.local("sink.test", sink.getLocalPort(), "tcp"), limits));
            FakeAgent agent = rig.agent("bench");
            IpAddress address = agent.lookUp("sink.test");
            for (int round = 0; round < 3; round++) {
                before = cpuSeconds();
                report("direct up", direct(sink.getLocalPort(), 'u'));
                report("direct down", direct(sink.getLocalPort(), 'd'));
                try (BenchAgent bench = new BenchAgent(rig.folder, "bench")) {
                    report("gateway up", bench.up(address, sink.getLocalPort(), BYTES));
                    report("gateway down", bench.down(address, sink.getLocalPort(), BYTES));
                    System.out.printf(
                            "connections per second %.0f%n",
                            bench.connections(address, sink.getLocalPort(), CONNECTIONS));
                    System.out.printf(
                            "median of connection and echo: %.0f us, direct %.0f us%n",
                            bench.latency(address, sink.getLocalPort()),
                            latency(sink.getLocalPort()));
                }
            }
        }
    }

    /** The processor time says what a loaded machine hides: both sides and the gateway together. */
    private static void report(String what, double seconds) {
        double cpu = cpuSeconds();
        System.out.printf(
                "%s %.0f MiB/s, %.2f s of processor time per GiB%n",
                what, (BYTES >> 20) / seconds, (cpu - before) / (BYTES >> 30));
        before = cpuSeconds();
    }

    private static double cpuSeconds() {
        return ProcessHandle.current()
                        .info()
                        .totalCpuDuration()
                        .orElse(java.time.Duration.ZERO)
                        .toMillis()
                / 1e3;
    }

    private static double direct(int port, char direction) throws IOException {
        try (SocketChannel socket =
                SocketChannel.open(
                        new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port))) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
            socket.write(ByteBuffer.wrap(new byte[] {(byte) direction}));
            long begun = System.nanoTime();
            if (direction == 'u') {
                for (long sent = 0; sent < BYTES; sent += BUFFER) {
                    buffer.clear();
                    while (buffer.hasRemaining()) {
                        socket.write(buffer);
                    }
                }
                socket.shutdownOutput();
            }
            while (socket.read(buffer.clear()) >= 0) {
                // to the end
            }
            return (System.nanoTime() - begun) / 1e9;
        }
    }

    private static double latency(int port) throws IOException {
        long[] nanos = new long[500];
        for (int i = 0; i < nanos.length; i++) {
            long begun = System.nanoTime();
            try (Socket socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
                socket.getOutputStream().write('e');
                socket.getInputStream().read();
            }
            nanos[i] = System.nanoTime() - begun;
        }
        Arrays.sort(nanos);
        return nanos[nanos.length / 2] / 1e3;
    }

    private static void accept(ServerSocket server) {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    /** u: takes all; d: sends; e: says one byte. */
    private static void serve(Socket socket) {
        byte[] buffer = new byte[BUFFER];
        try (socket) {
            switch (socket.getInputStream().read()) {
                case 'u' -> {
                    while (socket.getInputStream().read(buffer) >= 0) {
                        // to the end
                    }
                }
                case 'd' -> {
                    for (long sent = 0; sent < BYTES; sent += BUFFER) {
                        socket.getOutputStream().write(buffer);
                    }
                }
                default -> {
                    socket.getOutputStream().write('e');
                    socket.getInputStream().read();
                }
            }
        } catch (IOException e) {
            // gone
        }
    }
}
