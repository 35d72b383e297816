package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.util.List;
import java.util.Optional;

/**
 * Connections of a sandbox through the egress gateway to a server of this host, beside the same
 * client and server without a sandbox. The destination is an address that a rule names, so nothing
 * is terminated.
 */
final class WayOut implements Measure {
    private static final double HALF = 0.5;
    private static final double CONNECTIONS = 2000;
    private static final double ONE_MILLI = 1;
    private static final String PROGRAM = "/work/net";

    @Override
    public String name() {
        return "egress";
    }

    @Override
    public void run(Setting setting, Report report) {
        Optional<String> address = address();
        if (address.isEmpty()) {
            report.row(Row.skipped(name(), "this host has no IPv4 address but loopback"));
            return;
        }
        try (NetServer server = NetServer.open();
                Caisson caisson = Caisson.open()) {
            create(setting, report, caisson, address.get(), server.port());
            SandboxSpec open = spec(address.get(), server.port());
            try (Sandbox sandbox = caisson.create(open)) {
                sandbox.files().put(setting.net(), PROGRAM);
                sandbox.exec("chmod", "755", PROGRAM);
                measure(setting, report, sandbox, address.get(), server.port());
            }
        }
    }

    private static SandboxSpec spec(String address, int port) {
        return SandboxSpec.defaults()
                .withEgress(
                        ("{\"allow\":[{\"cidr\":\"%s/32\",\"ports\":[%d],\"schemes\":[\"tcp\"]}],"
                                        + "\"limits\":{\"connectionsPerSecond\":100000,"
                                        + "\"connections\":1000}}")
                                .formatted(address, port));
    }

    private static Optional<String> address() {
        try {
            return NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(found -> found instanceof Inet4Address && !found.isLoopbackAddress())
                    .map(found -> found.getHostAddress())
                    .findFirst();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a way out adds to making a sandbox. */
    private void create(Setting setting, Report report, Caisson caisson, String to, int port) {
        setting.warmUp(caisson);
        SandboxSpec open = spec(to, port);
        caisson.create(open).close();
        Samples with = new Samples();
        Samples without = new Samples();
        for (int i = 0; i < setting.times(200, 5); i++) {
            with.add(made(caisson, open));
            without.add(made(caisson, SandboxSpec.defaults()));
        }
        report.row(
                Row.of(name() + ".create", with.medianMillis(), "ms")
                        .withPeer("without a way out", without.medianMillis()));
    }

    private static long made(Caisson caisson, SandboxSpec spec) {
        long start = System.nanoTime();
        Sandbox sandbox = caisson.create(spec);
        long took = System.nanoTime() - start;
        sandbox.close();
        return took;
    }

    private void measure(Setting setting, Report report, Sandbox inside, String to, int port) {
        long mib = setting.times(2048, 64);
        for (String way : List.of("d", "u")) {
            Samples own = new Samples();
            Samples direct = new Samples();
            for (int i = 0; i < setting.times(7, 2) + 1; i++) {
                long through = inside(inside, to, port, way, mib, 1)[0];
                long beside = outside(setting, to, port, way, mib, 1)[0];
                if (i > 0) { // The first one warms.
                    own.add(through);
                    direct.add(beside);
                }
            }
            report.row(
                    Row.of(name() + (way.equals("d") ? ".down" : ".up"), rate(mib, own), "MiB/s")
                            .withPeer("direct", rate(mib, direct))
                            .withTarget(Target.ratioAtLeast(HALF)));
        }
        connections(setting, report, inside, to, port);
    }

    private void connections(Setting setting, Report report, Sandbox inside, String to, int port) {
        long count = setting.times(20_000, 500);
        inside(inside, to, port, "c", count, 4);
        long[] many = inside(inside, to, port, "c", count, 4);
        long[] beside = outside(setting, to, port, "c", count, 4);
        report.row(
                Row.of(name() + ".connections", count / (many[0] / 1e9), "/s")
                        .withPeer("direct", count / (beside[0] / 1e9))
                        .withTarget(Target.valueAtLeast(CONNECTIONS))
                        .withNote("four programs; connect, a byte there and back, close"));
        long few = setting.times(2000, 50);
        double through = inside(inside, to, port, "c", few, 1)[1] / 1e6;
        double direct = outside(setting, to, port, "c", few, 1)[1] / 1e6;
        report.row(
                Row.of(name() + ".latency", through, "ms")
                        .withPeer("direct", direct)
                        .withNote("median of one such connection after the other"));
        report.row(
                Row.of(name() + ".latency.above", through - direct, "ms")
                        .withTarget(Target.valueAtMost(ONE_MILLI)));
    }

    private static double rate(long mib, Samples samples) {
        return mib / (samples.medianMillis() / 1e3);
    }

    private static long[] inside(
            Sandbox sandbox, String to, int port, String way, long count, int parallel) {
        ExecSpec client = ExecSpec.of(command(PROGRAM, to, port, way, count, parallel));
        ExecResult result = sandbox.start(client, ExecListener.NONE).await();
        if (!result.succeeded()) {
            throw new IllegalStateException(
                    result.stderr().text() + " " + result.reason() + " " + result.denied());
        }
        return numbers(result.stdout().text());
    }

    private static List<String> command(
            String program, String to, int port, String way, long count, int parallel) {
        return List.of(
                program,
                to,
                Integer.toString(port),
                way,
                Long.toString(count),
                Integer.toString(parallel));
    }

    private static long[] outside(
            Setting setting, String to, int port, String way, long count, int parallel) {
        return numbers(
                Shell.run(command(setting.net().toString(), to, port, way, count, parallel)));
    }

    private static long[] numbers(String text) {
        return java.util.Arrays.stream(text.strip().split(" "))
                .mapToLong(Long::parseLong)
                .toArray();
    }
}
