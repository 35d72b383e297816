package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.InfoJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.UsageRow;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Every noun of a server, a method per route; the forms are the records of {@code dev.caisson.v1}.
 * Requests that create carry an idempotency key of their own and are done once. The caller closes
 * it.
 */
public final class ServiceClient implements AutoCloseable {
    /** So many items are put together to one list at most. */
    private static final int MAX_ITEMS = 100_000;

    private final Http http;

    private ServiceClient(Http http) {
        this.http = http;
    }

    /** Opens a client; nothing is sent yet. */
    public static ServiceClient open(RemoteConfig config) {
        return new ServiceClient(new Http(config));
    }

    Http http() {
        return http;
    }

    /** Version, tiers with what is missing, limits, who the caller is. */
    public InfoJson info() {
        return http.read(Call.get("v1", "info"), InfoJson.class);
    }

    /** Names of the templates. */
    public List<String> templates() {
        return http.items(Call.get("v1", "templates"), String.class);
    }

    /**
     * Usage in whole hours.
     *
     * @param by {@code tenant, sandbox, session, exec}; null: the server's choice
     * @param sandbox of one sandbox; null: of all
     */
    public List<UsageRow> usage(
            Optional<Instant> from,
            Optional<Instant> to,
            @Nullable String by,
            @Nullable String sandbox) {
        return http.items(
                Call.get("v1", "usage")
                        .query("from", from.orElse(null))
                        .query("to", to.orElse(null))
                        .query("by", by)
                        .query("sandbox", sandbox),
                UsageRow.class);
    }

    /** Sandboxes and their lives. */
    public SandboxesClient sandboxes() {
        return new SandboxesClient(http);
    }

    /** Commands. */
    public ExecsClient execs() {
        return new ExecsClient(http);
    }

    /** Whole lives in one call. */
    public RunsClient runs() {
        return new RunsClient(http);
    }

    /** Files in sandboxes. */
    public FilesClient files() {
        return new FilesClient(http);
    }

    /** Ports of sandboxes. */
    public PortsClient ports() {
        return new PortsClient(http);
    }

    /** Saved file systems. */
    public SnapshotsClient snapshots() {
        return new SnapshotsClient(http);
    }

    /** Volumes. */
    public VolumesClient volumes() {
        return new VolumesClient(http);
    }

    /** Warm pools. */
    public PoolsClient pools() {
        return new PoolsClient(http);
    }

    /** Policies. */
    public PoliciesClient policies() {
        return new PoliciesClient(http);
    }

    /** Keys. */
    public KeysClient keys() {
        return new KeysClient(http);
    }

    /** Tenants. */
    public TenantsClient tenants() {
        return new TenantsClient(http);
    }

    /** What waits for a person. */
    public ApprovalsClient approvals() {
        return new ApprovalsClient(http);
    }

    /** What happened. */
    public EventsClient events() {
        return new EventsClient(http);
    }

    /** Secrets. */
    public SecretsClient secrets() {
        return new SecretsClient(http);
    }

    /** Webhooks. */
    public WebhooksClient webhooks() {
        return new WebhooksClient(http);
    }

    /**
     * Every item of a list, from all its parts; at most 100,000.
     *
     * @param list for example {@code client.sandboxes()::list}
     */
    public static <T> List<T> all(Query query, Function<Query, Page<T>> list) {
        List<T> items = new ArrayList<>();
        Query next = query;
        while (true) {
            Page<T> page = list.apply(next);
            items.addAll(page.items());
            String cursor = page.nextCursor();
            if (cursor == null || cursor.isEmpty()) {
                return items;
            }
            if (page.items().isEmpty() || next.cursor().filter(cursor::equals).isPresent()) {
                throw Failures.malformed("a list that goes nowhere", null);
            }
            if (items.size() > MAX_ITEMS) {
                throw CaissonException.of(
                                ErrorCode.TOO_LARGE,
                                "The list has more than " + MAX_ITEMS + " items.")
                        .withRemedy("Narrow it with a filter, or read it part by part.");
            }
            next = next.after(cursor);
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
