package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.control.ControlConfig;
import dev.caisson.control.Role;
import dev.caisson.control.SecretConfig;
import dev.caisson.control.TokenConfig;
import dev.caisson.control.Vault;
import dev.caisson.control.WebhookConfig;
import dev.caisson.policy.HostRegistries;
import dev.caisson.server.PortsSettings;
import dev.caisson.server.ServerSettings;
import dev.caisson.server.ServerTls;
import dev.caisson.store.StoreConfig;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** The settings as each part wants them. */
final class Wiring {
    private static final String SQLITE = "sqlite:";

    private final Settings settings;

    Wiring(Settings settings) {
        this.settings = settings;
    }

    Path data() {
        return settings.path(Setting.DATA).orElseThrow();
    }

    boolean tls() {
        return settings.optional(Setting.TLS_KEY).isPresent();
    }

    /** The file of the database, where it is one. */
    Optional<Path> database() {
        return Optional.of(storeUrl())
                .filter(url -> url.startsWith(SQLITE))
                .map(url -> Path.of(url.substring(SQLITE.length())).toAbsolutePath());
    }

    private String storeUrl() {
        return settings.optional(Setting.STORE_URL)
                .orElseGet(() -> SQLITE + data().resolve("caisson.db"));
    }

    /** What names the store is shown: it holds no secret. */
    void checkStoreUrl() {
        StoreConfig.of(storeUrl(), settings.value(Setting.NODE));
    }

    StoreConfig store() {
        StoreConfig config = StoreConfig.of(storeUrl(), settings.value(Setting.NODE));
        return settings.path(Setting.STORE_PASSWORD_FILE)
                .map(file -> config.withPassword(DataFolder.secret(file)))
                .orElse(config);
    }

    /** Null: users of MCP sessions decide nothing. */
    @Nullable String approverKey() {
        return settings.path(Setting.MCP_APPROVER_KEY_FILE).map(DataFolder::secret).orElse(null);
    }

    ControlConfig control() {
        return new ControlConfig(
                data(),
                settings.time(Setting.SANDBOX_LEASE),
                settings.size(Setting.OUTPUT_RATE),
                settings.size(Setting.OUTPUT_KEPT),
                settings.time(Setting.OUTPUT_KEPT_FOR),
                settings.time(Setting.SANDBOX_ENDED_KEPT),
                settings.time(Setting.EVENTS_KEPT),
                settings.time(Setting.RUNS_KEPT),
                settings.time(Setting.SANDBOX_TIMEOUT),
                settings.number(Setting.EXECS_MAX),
                portsUrl(),
                webhooks(),
                tokens(),
                secrets(),
                registries());
    }

    /** What the settings name, and the host's own tools for the rest. */
    private HostRegistries registries() {
        Map<String, String> named = new HashMap<>();
        for (Setting setting :
                List.of(
                        Setting.PACKAGES_PYPI,
                        Setting.PACKAGES_NPM,
                        Setting.PACKAGES_MAVEN,
                        Setting.PACKAGES_DEBIAN)) {
            String url = settings.value(setting);
            if (!url.isEmpty()) {
                named.put(setting.key().substring("packages.".length()), url);
            }
        }
        return new HostRegistries(named);
    }

    private String portsUrl() {
        return settings.optionalAddress(Setting.PORTS_LISTEN)
                .map(address ->
                        (tls() ? "https" : "http")
                                + "://{port}-{id}."
                                + settings.value(Setting.PORTS_DOMAIN)
                                + ":"
                                + address.getPort())
                .orElse("");
    }

    private WebhookConfig webhooks() {
        WebhookConfig plain = WebhookConfig.defaults();
        return new WebhookConfig(
                settings.flag(Setting.WEBHOOKS_PRIVATE),
                plain.timeout(),
                plain.parallel(),
                settings.times(Setting.WEBHOOKS_BACKOFF),
                plain.disableAfter());
    }

    /** What secrets may be read from. */
    SecretConfig secrets() {
        List<Path> folders = new ArrayList<>();
        for (String word : settings.words(Setting.SECRETS_FOLDERS)) {
            if (!word.startsWith("/") || Path.of(word).normalize().getNameCount() == 0) {
                throw wrong(Setting.SECRETS_FOLDERS, "'" + word + "' is no absolute folder");
            }
            folders.add(Path.of(word));
        }
        Map<String, List<String>> commands = new HashMap<>();
        for (String word : settings.words(Setting.SECRETS_COMMANDS)) {
            int equals = word.indexOf('=');
            List<String> argv = List.of(word.substring(equals + 1).strip().split(" +", -1));
            if (equals < 1
                    || !word.substring(0, equals).matches("[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")
                    || !argv.getFirst().startsWith("/")) {
                throw wrong(
                        Setting.SECRETS_COMMANDS, "a command is NAME=/PATH/OF/PROGRAM ARGUMENTS");
            }
            commands.put(word.substring(0, equals), argv);
        }
        return new SecretConfig(folders, settings.words(Setting.SECRETS_ENV), commands);
    }

    private static CaissonException wrong(Setting setting, String why) {
        return CaissonException.invalid(
                setting.key(), "The setting " + setting.key() + " is wrong: " + why + ".");
    }

    /** Null: no issuer is trusted. */
    @Nullable TokenConfig tokens() {
        if (settings.optional(Setting.OIDC_ISSUER).isEmpty()) {
            return null;
        }
        Map<String, Role> roles = new HashMap<>();
        settings.pairs(Setting.OIDC_ROLES)
                .forEach((value, role) -> roles.put(value, Role.of(role)));
        return new TokenConfig(
                settings.value(Setting.OIDC_ISSUER),
                needed(Setting.OIDC_AUDIENCE),
                keys(needed(Setting.OIDC_KEYS)),
                settings.value(Setting.OIDC_TENANT_CLAIM),
                settings.pairs(Setting.OIDC_TENANTS),
                settings.value(Setting.OIDC_ROLE_CLAIM),
                roles,
                settings.value(Setting.OIDC_SUBJECT_CLAIM));
    }

    private String needed(Setting setting) {
        return settings.optional(setting)
                .orElseThrow(() ->
                        CaissonException.invalid(
                                setting.key(),
                                "The setting " + setting.key() + " is needed with oidc.issuer."));
    }

    private static URI keys(String text) {
        if (text.startsWith("/")) {
            return Path.of(text).toUri();
        }
        try {
            URI uri = new URI(text);
            if (uri.getScheme() != null && uri.getScheme().matches("https?|file")) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Told below.
        }
        throw CaissonException.invalid(
                Setting.OIDC_KEYS.key(),
                "The setting oidc.keys is neither a file nor an http, https or file URL.");
    }

    ServerSettings server(Vault vault) {
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

    /** Everything that is only found wrong when it is used. */
    void check() {
        tokens();
        control();
        for (Setting file :
                new Setting[] {
                    Setting.STORE_PASSWORD_FILE,
                    Setting.TLS_CERTIFICATE,
                    Setting.TLS_KEY,
                    Setting.MCP_APPROVER_KEY_FILE
                }) {
            settings.path(file).ifPresent(path -> readable(file, path));
        }
        settings.optional(Setting.OTLP_ENDPOINT).ifPresent(Tracing::endpoint);
    }

    private static void readable(Setting setting, Path path) {
        if (!Files.isReadable(path)) {
            throw CaissonException.invalid(
                            setting.key(),
                            "The setting "
                                    + setting.key()
                                    + " names "
                                    + path
                                    + ", which cannot be read.")
                    .withRemedy("Run this as the user of the server, or see the file's mode.");
        }
    }
}
