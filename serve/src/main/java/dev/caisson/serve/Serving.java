package dev.caisson.serve;

import dev.caisson.api.Tier;
import dev.caisson.control.ControlConfig;
import dev.caisson.control.EngineRack;
import dev.caisson.control.Service;
import dev.caisson.control.Store;
import dev.caisson.control.Vault;
import dev.caisson.engine.namespaces.NamespacesEngine;
import dev.caisson.server.HttpApi;
import dev.caisson.server.PortsSettings;
import dev.caisson.server.ServerSettings;
import dev.caisson.store.StoreConfig;
import dev.caisson.store.Stores;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.TierJson;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.crypto.spec.SecretKeySpec;

/** A running server. */
public final class Serving implements AutoCloseable {
    private static final Duration DRAIN = Duration.ofSeconds(10);

    private final Service service;
    private final HttpApi api;
    private final Optional<KeyJson> firstKey;

    private Serving(Service service, HttpApi api, Optional<KeyJson> firstKey) {
        this.service = service;
        this.api = api;
        this.firstKey = firstKey;
    }

    /** Starts one; it takes requests when this returns. */
    public static Serving start(ServeConfig config) {
        DataFolder data = DataFolder.open(config.data());
        Vault vault = new Vault(data.serverKey());
        Store store = Stores.open(StoreConfig.of(config.store(), config.node()));
        EngineRack engines =
                new EngineRack(
                        List.of(
                                new EngineRack.Slot(
                                        Tier.CONTAINER,
                                        () -> NamespacesEngine.connect(config.launcherSocket()))),
                        List.of(
                                new TierJson(
                                        Tier.GVISOR.value(), false, null, "not in this version", null),
                                new TierJson(
                                        Tier.MICROVM.value(),
                                        false,
                                        null,
                                        "not in this version",
                                        null)));
        Service service =
                Service.open(controlConfig(config), store, engines, vault, Clock.systemUTC());
        Optional<KeyJson> firstKey = service.bootstrap();
        firstKey.ifPresent(data::keepFirstKey);
        HttpApi api = new HttpApi(service, settings(config, vault));
        api.start();
        return new Serving(service, api, firstKey);
    }

    private static ControlConfig controlConfig(ServeConfig config) {
        ControlConfig plain = ControlConfig.of(config.data());
        String url =
                config.portsListen()
                        .map(address ->
                                "http://{port}-{id}."
                                        + config.portsDomain()
                                        + ":"
                                        + address.getPort())
                        .orElse("");
        return new ControlConfig(
                plain.data(),
                plain.lease(),
                plain.logPerExec(),
                plain.logKept(),
                plain.endedKept(),
                plain.eventsKept(),
                plain.runKept(),
                plain.defaultTimeout(),
                plain.maxExecs(),
                url);
    }

    private static ServerSettings settings(ServeConfig config, Vault vault) {
        ServerSettings plain = ServerSettings.defaults();
        return new ServerSettings(
                config.listen(),
                config.hosts(),
                plain.origins(),
                plain.tls(),
                plain.limits(),
                plain.metricsSocket(),
                new SecretKeySpec(vault.hmac("caisson links v1"), "HmacSHA256"),
                config.portsListen()
                        .map(address -> new PortsSettings(address, config.portsDomain()))
                        .orElse(null));
    }

    /** Where the API answers. */
    public InetSocketAddress address() {
        return api.address();
    }

    /** The first admin key, when this start made it. */
    public Optional<KeyJson> firstKey() {
        return firstKey;
    }

    /** Lets running requests end, then leaves; leased sandboxes live on. */
    @Override
    public void close() {
        service.drain(DRAIN);
        api.drain(DRAIN);
        api.close();
        service.close();
    }
}
