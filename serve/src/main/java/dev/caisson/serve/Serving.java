package dev.caisson.serve;

import dev.caisson.api.Tier;
import dev.caisson.control.EngineRack;
import dev.caisson.control.Service;
import dev.caisson.control.Store;
import dev.caisson.control.Vault;
import dev.caisson.core.Engine;
import dev.caisson.engine.namespaces.NamespacesEngine;
import dev.caisson.server.Additions;
import dev.caisson.server.HttpApi;
import dev.caisson.store.Stores;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.TierJson;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A running server. */
public final class Serving implements AutoCloseable {
    private static final Duration DRAIN = Duration.ofSeconds(10);

    private final DataFolder data;
    private final Service service;
    private final HttpApi api;
    private final McpMount mcp;
    private final Tracing tracing;
    private final Optional<KeyJson> firstKey;
    private final boolean tls;

    private Serving(DataFolder data, Wiring wiring, Settings settings) {
        this.data = data;
        tls = wiring.tls();
        Vault vault = new Vault(data.serverKey());
        Store store = Stores.open(wiring.store());
        EngineRack engines =
                new EngineRack(
                        List.of(new EngineRack.Slot(Tier.CONTAINER, () -> engine(settings))),
                        List.of(missing(Tier.GVISOR), missing(Tier.MICROVM)));
        service = Service.open(wiring.control(), store, engines, vault, Clock.systemUTC());
        firstKey = service.bootstrap();
        firstKey.ifPresent(data::keepFirstKey);
        mcp = new McpMount(service, settings.words(Setting.ORIGINS), wiring.approverKey());
        tracing = Tracing.start(settings.optional(Setting.OTLP_ENDPOINT), store.node());
        Additions additions =
                new Additions(new ServiceCensus(service), List.of(mcp.mount()), tracing);
        api = new HttpApi(service, wiring.server(vault), additions);
        api.start();
        tellAddress(store, settings.optional(Setting.ADDRESS).orElseGet(this::url));
    }

    /** Starts one; it takes requests when this returns. */
    public static Serving start(Settings settings) {
        Wiring wiring = new Wiring(settings);
        return new Serving(DataFolder.open(wiring.data()), wiring, settings);
    }

    private static Engine engine(Settings settings) {
        return NamespacesEngine.connect(settings.path(Setting.LAUNCHER_SOCKET).orElseThrow());
    }

    private static TierJson missing(Tier tier) {
        return new TierJson(tier.value(), false, null, "not in this version", null);
    }

    /** The other servers of the store send callers here (421) for what is here. */
    private static void tellAddress(Store store, String address) {
        String name = "address." + store.node();
        boolean known = store.read(tx -> tx.meta(name)).filter(address::equals).isPresent();
        if (!known) {
            store.write(tx -> {
                tx.meta(name, address);
                return address;
            });
        }
    }

    /** Where the API answers. */
    public InetSocketAddress address() {
        return api.address();
    }

    /** The same as a URL. */
    public String url() {
        InetSocketAddress address = api.address();
        String host = address.getHostString();
        String named = host.contains(":") ? "[" + host + "]" : host;
        return (tls ? "https" : "http") + "://" + named + ":" + address.getPort();
    }

    /** The first admin key, when this start made it. */
    public Optional<KeyJson> firstKey() {
        return firstKey;
    }

    /** The file that holds it, for its owner alone. */
    public Path firstKeyFile() {
        return data.firstKeyFile();
    }

    /**
     * Lets running requests end, then leaves; leased sandboxes live on. Sessions of the Model
     * Context Protocol end with their sandboxes, since nobody could find them again.
     */
    @Override
    public void close() {
        service.drain(DRAIN);
        mcp.close();
        api.drain(DRAIN);
        api.close();
        tracing.close();
        service.close();
    }
}
