package dev.caisson.client;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * Where a server is and how it is spoken to.
 *
 * @param url {@code http} or {@code https}, with a path where the server lies below one
 * @param key {@code caisson_…}; sent as a bearer token, never in a URL, never printed
 * @param tenant that an operator acts for; empty: the key's own
 * @param caFile PEM certificates that are trusted instead of the JVM's
 * @param connectTimeout for a connection; default 10 s
 * @param requestTimeout until an answer begins; default 2 min
 * @param idleTimeout without a byte in an answer or stream, which has a keepalive every 15 s;
 *     default 1 min
 * @param patience how long a broken stream is opened again without anything new; default 1 min
 * @param lease how long sandboxes outlive a client that is gone without closing them; default 5 min
 * @param answerLimit bytes of one JSON answer or stream item; default 64 MiB
 */
public record RemoteConfig(
        URI url,
        String key,
        Optional<String> tenant,
        Optional<Path> caFile,
        Duration connectTimeout,
        Duration requestTimeout,
        Duration idleTimeout,
        Duration patience,
        Duration lease,
        ByteSize answerLimit) {

    /** A server and a key, with every default. */
    public static RemoteConfig of(String url, String key) {
        return new RemoteConfig(
                parse(url),
                key,
                Optional.empty(),
                Optional.empty(),
                Duration.ofSeconds(10),
                Duration.ofMinutes(2),
                Duration.ofMinutes(1),
                Duration.ofMinutes(1),
                Duration.ofMinutes(5),
                ByteSize.ofMib(64));
    }

    /**
     * What {@code CAISSON_URL}, {@code CAISSON_API_KEY} and, where they are set, {@code
     * CAISSON_CA_FILE} and {@code CAISSON_TENANT} say.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} without URL or key
     */
    public static RemoteConfig of(Map<String, String> environment) {
        RemoteConfig config =
                of(required(environment, "CAISSON_URL"), required(environment, "CAISSON_API_KEY"));
        String tenant = environment.getOrDefault("CAISSON_TENANT", "");
        String caFile = environment.getOrDefault("CAISSON_CA_FILE", "");
        config = tenant.isBlank() ? config : config.withTenant(tenant.strip());
        return caFile.isBlank() ? config : config.withCaFile(Path.of(caFile));
    }

    private static String required(Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "").strip();
        if (value.isEmpty()) {
            throw CaissonException.invalid(
                            name, "The environment variable " + name + " is not set.")
                    .withRemedy(
                            "Set CAISSON_URL and CAISSON_API_KEY to the server and a key of it.");
        }
        return value;
    }

    private static URI parse(String url) {
        try {
            return URI.create(url.strip());
        } catch (IllegalArgumentException e) {
            throw wrong("The server's URL is malformed.");
        }
    }

    private static CaissonException wrong(String message) {
        return CaissonException.invalid("url", message)
                .withRemedy("Write for example https://caisson.example.org:8443.");
    }

    /** Refuses what is no URL of a server, and keys that no header takes. */
    public RemoteConfig {
        String scheme = String.valueOf(url.getScheme());
        if (!scheme.equals("http") && !scheme.equals("https")) {
            throw wrong("The server's URL is neither http nor https.");
        }
        if (url.getHost() == null || url.getRawUserInfo() != null) {
            throw wrong("The server's URL needs a host, and holds no user or password.");
        }
        if (url.getRawQuery() != null || url.getRawFragment() != null) {
            throw wrong("The server's URL has no query and no fragment.");
        }
        if (key.isEmpty() || !visible(key)) {
            throw CaissonException.invalid("key", "The key is empty or not ASCII.")
                    .withRemedy("Keys look like caisson_ and 40 hexadecimal digits.");
        }
        if (!tenant.map(RemoteConfig::visible).orElse(true)) {
            throw CaissonException.invalid("tenant", "The tenant is no id.");
        }
    }

    private static boolean visible(String text) {
        return text.chars().allMatch(c -> c > ' ' && c < 0x7F);
    }

    /** The same for another tenant, for operators. */
    public RemoteConfig withTenant(String newTenant) {
        return new RemoteConfig(
                url,
                key,
                Optional.of(newTenant),
                caFile,
                connectTimeout,
                requestTimeout,
                idleTimeout,
                patience,
                lease,
                answerLimit);
    }

    /** The same with other trusted certificates. */
    public RemoteConfig withCaFile(Path newCaFile) {
        return new RemoteConfig(
                url,
                key,
                tenant,
                Optional.of(newCaFile),
                connectTimeout,
                requestTimeout,
                idleTimeout,
                patience,
                lease,
                answerLimit);
    }

    /** The same with other times of waiting. */
    public RemoteConfig withTimeouts(Duration connect, Duration request, Duration idle) {
        return new RemoteConfig(
                url, key, tenant, caFile, connect, request, idle, patience, lease, answerLimit);
    }

    /** The same with another patience with broken streams. */
    public RemoteConfig withPatience(Duration newPatience) {
        return new RemoteConfig(
                url,
                key,
                tenant,
                caFile,
                connectTimeout,
                requestTimeout,
                idleTimeout,
                newPatience,
                lease,
                answerLimit);
    }

    /** The same with another lease. */
    public RemoteConfig withLease(Duration newLease) {
        return new RemoteConfig(
                url,
                key,
                tenant,
                caFile,
                connectTimeout,
                requestTimeout,
                idleTimeout,
                patience,
                newLease,
                answerLimit);
    }

    /** The same with another largest answer. */
    public RemoteConfig withAnswerLimit(ByteSize newAnswerLimit) {
        return new RemoteConfig(
                url,
                key,
                tenant,
                caFile,
                connectTimeout,
                requestTimeout,
                idleTimeout,
                patience,
                lease,
                newAnswerLimit);
    }

    /** Without the key. */
    @Override
    public String toString() {
        return "RemoteConfig[url=" + url + ", key=***]";
    }
}
