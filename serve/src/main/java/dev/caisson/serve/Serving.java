package dev.caisson.serve;

import dev.caisson.api.Tier;
import dev.caisson.control.ControlConfig;
import dev.caisson.control.EngineRack;
import dev.caisson.control.Service;
import dev.caisson.control.Store;
import dev.caisson.control.Vault;
import dev.caisson.control.WebhookConfig;
import dev.caisson.core.Engine;
import dev.caisson.engine.namespaces.NamespacesEngine;
import dev.caisson.server.HttpApi;
import dev.caisson.server.PortsSettings;
import dev.caisson.server.ServerSettings;
import dev.caisson.server.ServerTls;
import dev.caisson.store.StoreConfig;
import dev.caisson.store.Stores;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.TierJson;
import java.net.InetSocketAddress;
import java.nio.file.Path;
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
    private final DataFolder data;
    private final boolean tls;

    private Serving(
            Service service,
            HttpApi api,
            Optional<KeyJson> firstKey,
            DataFolder data,
            boolean tls) {
        this.tls = tls;
        this.data = data;
        this.service = service;
        this.api = api;
        this.firstKey = firstKey;
    }

    /** Starts one; it takes requests when this returns. */
    public static Serving start(Settings settings) {
        DataFolder data = DataFolder.open(settings.path(Setting.DATA).orElseThrow());
        Vault vault = new Vault(data.serverKey());
        Store store = Stores.open(storeConfig(settings, data));
        EngineRack engines =
                new EngineRack(
                        List.of(new EngineRack.Slot(Tier.CONTAINER, () -> engine(settings))),
                        List.of(missing(Tier.GVISOR), missing(Tier.MICROVM)));
        Service service =
                Service.open(
                        controlConfig(settings, data), store, engines, vault, Clock.systemUTC());
        Optional<KeyJson> firstKey = service.bootstrap();
        firstKey.ifPresent(data::keepFirstKey);
        HttpApi api = new HttpApi(service, serverSettings(settings, vault));
        api.start();
        Serving serving =
                new Serving(
                        service,
                        api,
                        firstKey,
                        data,
                        settings.optional(Setting.TLS_KEY).isPresent());
        serving.tell(store, settings);
        return serving;
    }

    /** Where the other servers of the store send whoever asks them for what is here. */
    private void tell(Store store, Settings settings) {
        String address = settings.optional(Setting.ADDRESS).orElseGet(this::url);
        store.write(tx -> {
            tx.meta("address." + store.node(), address);
            return address;
        });
    }

    private static Engine engine(Settings settings) {
        return NamespacesEngine.connect(settings.path(Setting.LAUNCHER_SOCKET).orElseThrow());
    }

    private static TierJson missing(Tier tier) {
        return new TierJson(tier.value(), false, null, "not in this version", null);
    }

    private static StoreConfig storeConfig(Settings settings, DataFolder data) {
        String url =
                settings.optional(Setting.STORE_URL)
                        .orElseGet(() -> "sqlite:" + data.path().resolve("caisson.db"));
        StoreConfig config = StoreConfig.of(url, settings.value(Setting.NODE));
        return settings.path(Setting.STORE_PASSWORD_FILE)
                .map(file -> config.withPassword(DataFolder.secret(file)))
                .orElse(config);
    }

    private static ControlConfig controlConfig(Settings settings, DataFolder data) {
        String url =
                settings.optionalAddress(Setting.PORTS_LISTEN)
                        .map(address ->
                                (settings.optional(Setting.TLS_KEY).isPresent() ? "https" : "http")
                                        + "://{port}-{id}."
                                        + settings.value(Setting.PORTS_DOMAIN)
                                        + ":"
                                        + address.getPort())
                        .orElse("");
        return new ControlConfig(
                data.path(),
                settings.time(Setting.SANDBOX_LEASE),
                settings.size(Setting.OUTPUT_KEPT),
                settings.time(Setting.OUTPUT_KEPT_FOR),
                settings.time(Setting.SANDBOX_ENDED_KEPT),
                settings.time(Setting.EVENTS_KEPT),
                settings.time(Setting.RUNS_KEPT),
                settings.time(Setting.SANDBOX_TIMEOUT),
                settings.number(Setting.EXECS_MAX),
                url,
                plainWebhooks(settings),
                null);
    }

    private static WebhookConfig plainWebhooks(Settings settings) {
        WebhookConfig plain = WebhookConfig.defaults();
        return new WebhookConfig(
                settings.flag(Setting.WEBHOOKS_PRIVATE),
                plain.timeout(),
                plain.parallel(),
                plain.backoff(),
                plain.disableAfter());
    }

    private static ServerSettings serverSettings(Settings settings, Vault vault) {
        ServerSettings plain = ServerSettings.defaults();
        return new ServerSettings(
                settings.address(Setting.LISTEN),
                settings.words(Setting.HOSTS),
                settings.words(Setting.ORIGINS),
                settings.path(Setting.TLS_CERTIFICATE)
                        .map(certificate ->
                                new ServerTls(
                                        certificate, settings.path(Setting.TLS_KEY).orElseThrow()))
                        .orElse(null),
                plain.limits(),
                settings.path(Setting.METRICS_SOCKET).orElse(null),
                new SecretKeySpec(vault.hmac("caisson links v1"), "HmacSHA256"),
                settings.optionalAddress(Setting.PORTS_LISTEN)
                        .map(address ->
                                new PortsSettings(address, settings.value(Setting.PORTS_DOMAIN)))
                        .orElse(null));
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

    /** Lets running requests end, then leaves; leased sandboxes live on. */
    @Override
    public void close() {
        service.drain(DRAIN);
        api.drain(DRAIN);
        api.close();
        service.close();
    }
}
