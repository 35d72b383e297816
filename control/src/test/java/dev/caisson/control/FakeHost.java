package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Tier;
import dev.caisson.engine.namespaces.NamespacesEngine;
import dev.caisson.testkit.FakeAgent;
import dev.caisson.testkit.FakeGateway;
import dev.caisson.testkit.FakeLauncher;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.StreamItem;
import dev.caisson.v1.TenantRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A whole service over a fake launcher, whose sandboxes outlive their servers, and a store in
 * memory. {@link #restart} is a server that follows one that was killed.
 */
final class FakeHost implements AutoCloseable {
    final FakeLauncher launcher;
    final MemoryStore memory;
    final GatedStore store;
    final ManualClock clock;
    final Service service;
    final Caller admin;
    final Path data;

    private final Vault vault;
    private @Nullable FakeGateway gateway;
    private final List<FakeHost> earlier = new ArrayList<>();

    static FakeHost open(Path folder) {
        return open(folder, new FakeLauncher(folder));
    }

    /** One whose engine can give a way out, or says so. */
    static FakeHost openWithEgress(Path folder) {
        FakeLauncher launcher = new FakeLauncher(folder);
        FakeGateway gateway = new FakeGateway(folder);
        launcher.gateway(gateway.socket());
        FakeHost host = open(folder, launcher);
        host.gateway = gateway;
        return host;
    }

    private static FakeHost open(Path folder, FakeLauncher launcher) {
        launcher.lease();
        launcher.onAgent(FakeHost::programs);
        Vault vault = new Vault(Vault.newKey());
        return new FakeHost(
                launcher,
                new MemoryStore(),
                new ManualClock(),
                vault,
                folder.resolve("data"),
                null);
    }

    private FakeHost(
            FakeLauncher launcher,
            MemoryStore memory,
            ManualClock clock,
            Vault vault,
            Path data,
            @Nullable Caller admin) {
        this.launcher = launcher;
        this.memory = memory;
        this.clock = clock;
        this.vault = vault;
        this.data = data;
        this.store = new GatedStore(memory);
        EngineRack engines =
                new EngineRack(
                        List.of(
                                new EngineRack.Slot(
                                        Tier.CONTAINER,
                                        () -> NamespacesEngine.connect(launcher.socket()))),
                        List.of());
        ControlConfig config =
                new ControlConfig(
                        data,
                        Duration.ofMinutes(2),
                        ByteSize.of(0),
                        ByteSize.ofMib(1),
                        Duration.ofHours(1),
                        Duration.ofDays(1),
                        Duration.ofDays(30),
                        Duration.ofHours(1),
                        Duration.ofMinutes(30),
                        64,
                        "http://{port}-{id}.localhost",
                        WebhookConfig.defaults(),
                        null,
                        SecretConfig.none());
        service = Service.open(config, store, engines, vault, clock);
        this.admin =
                admin == null
                        ? service.authenticate(Fixture.text(service.bootstrap().orElseThrow()))
                        : admin;
    }

    /** Of one that was opened with a way out. */
    FakeGateway gateway() {
        return Objects.requireNonNull(gateway);
    }

    /** Programs that wait: {@code sleep} until it is killed, {@code talk} writes before. */
    static void programs(FakeAgent agent) {
        agent.program("sync", exec -> 0);
        agent.program(
                "sleep",
                exec -> {
                    exec.awaitKill();
                    return 0;
                });
        agent.program(
                "talk",
                exec -> {
                    exec.print(String.join(" ", exec.arguments()));
                    exec.awaitKill();
                    return 0;
                });
        agent.program(
                "later",
                exec -> {
                    exec.print("before ");
                    exec.readAll();
                    exec.print("after");
                    return 7;
                });
    }

    /** A server of the same node; this one was killed. */
    FakeHost restart() {
        return server(memory.node());
    }

    /** A server of that node beside this one. */
    FakeHost server(String node) {
        FakeHost next = new FakeHost(launcher, memory.server(node), clock, vault, data, admin);
        next.earlier.add(this);
        next.gateway = gateway;
        return next;
    }

    Caller tenant(String name, @Nullable QuotaJson quotas) {
        String id =
                service.tenants()
                        .create(admin, new TenantRequest(name, quotas, null, Map.of()))
                        .id();
        return service.actFor(admin, id);
    }

    static SandboxRequest request(@Nullable String name) {
        return request(name, null, Map.of(), null);
    }

    static SandboxRequest request(
            @Nullable String name,
            @Nullable String ifExists,
            Map<String, String> env,
            @Nullable Long timeoutMillis) {
        return request(name, ifExists, env, timeoutMillis, null, null, false);
    }

    static SandboxRequest request(
            @Nullable String name,
            @Nullable String ifExists,
            Map<String, String> env,
            @Nullable Long timeoutMillis,
            @Nullable Long idleMillis,
            @Nullable Long maxLifeMillis,
            boolean pause) {
        return new SandboxRequest(
                name,
                ifExists,
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                env,
                timeoutMillis,
                idleMillis,
                maxLifeMillis,
                pause ? "pause" : null,
                pause,
                null,
                List.of(),
                null,
                null,
                null,
                null,
                List.of());
    }

    SandboxJson create() {
        return service.sandboxes().create(admin, request(null)).sandbox();
    }

    String start(String sandbox, String... argv) {
        return service.execs().start(admin, sandbox, ExecRequest.of(List.of(argv))).id();
    }

    FakeAgent agent(String sandbox) {
        return Objects.requireNonNull(launcher.agent(sandbox));
    }

    /** What the service holds of that. */
    int held(String what) {
        return Objects.requireNonNull(service.held().get(what));
    }

    List<EventJson> events() {
        return memory.read(tx -> tx.events(admin.tenant(), 0, 100_000, null, null));
    }

    List<String> types(String prefix) {
        return events().stream().map(EventJson::type).filter(t -> t.startsWith(prefix)).toList();
    }

    SandboxDoc doc(String sandbox) {
        return SandboxDoc.of(memory.read(tx -> tx.find(Kind.SANDBOX, sandbox)).orElseThrow());
    }

    ExecDoc exec(String id) {
        return ExecDoc.of(memory.read(tx -> tx.find(Kind.EXEC, id)).orElseThrow());
    }

    List<StreamItem> follow(String exec, @Nullable String after) throws IOException {
        List<StreamItem> items = Collections.synchronizedList(new ArrayList<>());
        service.execs().follow(admin, exec, after, items::add);
        return items;
    }

    static String text(List<StreamItem> items) {
        StringBuilder text = new StringBuilder();
        items.forEach(item -> text.append(item.text() == null ? "" : item.text()));
        return text.toString();
    }

    @Override
    public void close() {
        service.close();
        earlier.forEach(host -> host.service.close());
        launcher.close();
        if (gateway != null) {
            gateway.close();
        }
    }
}
