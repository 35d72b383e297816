package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.QuotaJson;
import java.time.Duration;
import java.util.Optional;

/**
 * Tenants as every part needs them, read a short time ago. The tenant that the first start made is
 * the home of those who run the service: only its admins and operators act for others. Thread-safe.
 */
final class Directory {
    /** The tenant of the rows of tenants: their names are unique among all. */
    static final String ALL = "-";

    static final String HOME = "home-tenant";
    static final String ACTIVE = "active";
    static final String SUSPENDED = "suspended";
    static final String DELETING = "deleting";

    /** What is left of a tenant while its events and usage are kept; not listed. */
    static final String DELETED = "deleted";

    private static final Duration TTL = Duration.ofSeconds(1);

    private final Ledger ledger;
    private final Recent<Optional<Tenant>> tenants;
    private final Recent<String> home;

    Directory(Ledger ledger) {
        this.ledger = ledger;
        this.tenants = new Recent<>(ledger::now, TTL);
        this.home = new Recent<>(ledger::now, Duration.ofMinutes(1));
    }

    /** What is searched by id. */
    record Tenant(String id, String name, String state, QuotaJson quotas) {
        boolean isActive() {
            return state.equals(ACTIVE);
        }

        boolean takesKeys() {
            return state.equals(ACTIVE) || state.equals(SUSPENDED);
        }
    }

    /** The body of a tenant's row. */
    record Doc(QuotaJson quotas) {}

    static Tenant of(Row row) {
        return new Tenant(
                row.id(),
                String.valueOf(row.name()),
                row.state(),
                Json.read(row.body(), Doc.class).quotas());
    }

    /** One by id. */
    Optional<Tenant> tenant(String id) {
        return tenants.get(
                id, () -> ledger.read(tx -> tx.find(Kind.TENANT, id)).map(Directory::of));
    }

    /** Quotas of a tenant; none of one that is gone. */
    QuotaJson quotas(String tenant) {
        return tenant(tenant).map(Tenant::quotas).orElse(QuotaJson.NONE);
    }

    /** The tenant of those who run the service; empty text before the first start. */
    String home() {
        return home.get(HOME, () -> ledger.read(tx -> tx.meta(HOME)).orElse(""));
    }

    /** Whether this caller runs the service: at home, or acting for a tenant. */
    boolean runsService(Caller caller) {
        boolean role = caller.role() == Role.ADMIN || caller.role() == Role.OPERATOR;
        return role && (caller.actingFor() || caller.tenant().equals(home()));
    }

    /**
     * Refuses a tenant that is suspended, being deleted or gone.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED}, {@link ErrorCode#UNAUTHENTICATED}
     */
    Tenant requireActive(String id) {
        Tenant tenant = tenant(id).filter(Tenant::takesKeys).orElseThrow(Credentials::refused);
        if (!tenant.state().equals(ACTIVE)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The tenant " + tenant.name() + " is suspended.")
                    .withRemedy("Ask an operator to make it active again.");
        }
        return tenant;
    }

    /** Something about tenants was changed by this server. */
    void forget() {
        tenants.forget();
        home.forget();
    }
}
