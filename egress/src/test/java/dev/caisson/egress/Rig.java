package dev.caisson.egress;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import dev.caisson.v1.EgressRule;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A gateway with real sockets, a resolver that is a table, and everybody let in. */
final class Rig implements Closeable {
    static final int OWNER = 1000;

    final Path folder;
    final Map<String, List<String>> zone = new ConcurrentHashMap<>();
    final List<String> resolved = new CopyOnWriteArrayList<>();
    private final List<Closeable> opened = new ArrayList<>();
    Parts parts = BlindParts.of();
    Optional<UpstreamProxy> upstream = Optional.empty();
    private @Nullable Gateway gateway;

    Rig() throws IOException {
        folder = Files.createTempDirectory("egress");
    }

    static Rig started() throws IOException {
        Rig rig = new Rig();
        rig.start();
        return rig;
    }

    void start() throws IOException {
        Resolver resolver =
                name -> {
                    resolved.add(name.value());
                    List<String> found = zone.get(name.value());
                    if (found == null) {
                        throw new IOException("no such name");
                    }
                    return found.stream().map(IpAddress::parse).toList();
                };
        gateway =
                new Gateway(
                        GatewayOptions.of(folder),
                        new Gateway.Doors(c -> OptionalInt.of(0), c -> OptionalInt.of(OWNER)),
                        new Outside(resolver, upstream),
                        parts);
    }

    Gateway gateway() {
        return java.util.Objects.requireNonNull(gateway);
    }

    FakeClient client() throws Exception {
        FakeClient client = FakeClient.welcomed(folder);
        opened.add(client);
        return client;
    }

    FakeAgent agent(String sandbox) throws IOException {
        FakeAgent agent = FakeAgent.ready(folder, OWNER, sandbox);
        opened.add(agent);
        return agent;
    }

    Sandbox sandbox(String id) {
        return gateway().sandboxes().find(new SandboxKey(OWNER, id)).orElseThrow();
    }

    void stop() throws IOException {
        gateway().close();
    }

    @Override
    public void close() throws IOException {
        for (Closeable one : opened) {
            one.close();
        }
        stop();
        try (var files = Files.walk(folder)) {
            for (Path path : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        }
    }

    // ---- policies
    // -------------------------------------------------------------------------------------

    static EgressJson policy(EgressRule... rules) {
        return new EgressJson(
                null, null, Arrays.asList(rules), List.of(), null, List.of(), Map.of());
    }

    static EgressJson mode(EgressJson policy, String mode) {
        return new EgressJson(
                null,
                mode,
                policy.allow(),
                policy.deny(),
                policy.limits(),
                policy.secrets(),
                policy.packages());
    }

    static EgressJson limits(EgressJson policy, EgressLimits limits) {
        return new EgressJson(
                null,
                policy.mode(),
                policy.allow(),
                policy.deny(),
                limits,
                policy.secrets(),
                policy.packages());
    }

    static EgressRule host(String host, int port, String... schemes) {
        return new EgressRule(
                host, null, List.of(port), List.of(schemes), List.of(), null, null, null);
    }

    static EgressRule cidr(String cidr, int port) {
        return new EgressRule(
                null, cidr, List.of(port), List.of("tcp"), List.of(), null, null, null);
    }

    /** Loopback may be reached on a port, by a name that leads there. */
    EgressJson local(String name, int port, String... schemes) {
        zone.put(name, List.of("127.0.0.1"));
        return policy(host(name, port, schemes), cidr("127.0.0.1/32", port));
    }

    static HostName name(String name) {
        return HostName.of(name);
    }
}
