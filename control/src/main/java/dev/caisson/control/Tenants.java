package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tenants. Those who run the service (admins and operators of the home tenant) see and change all;
 * all others see their own only, and change none: quotas are given to them. Thread-safe.
 */
final class Tenants implements TenantService {
    private static final String NOUN = "tenants";
    private static final String SELF = "self";

    private final Ledger ledger;
    private final Cursors cursors;
    private final Directory directory;
    private final Erasure erasure;
    private final Consumer<String> changed;

    /**
     * @param changed told the id of a tenant whose quotas or state were changed
     */
    Tenants(
            Ledger ledger,
            Cursors cursors,
            Directory directory,
            Erasure erasure,
            Consumer<String> changed) {
        this.ledger = ledger;
        this.cursors = cursors;
        this.directory = directory;
        this.erasure = erasure;
        this.changed = changed;
    }

    /** The row of a new tenant. */
    static Row fresh(
            String name, Map<String, String> labels, @Nullable QuotaJson quotas, Instant now) {
        Directory.Doc doc = new Directory.Doc(quotas == null ? QuotaJson.NONE : quotas);
        Row row =
                Rows.fresh(
                        Ids.next(Ids.Kind.TENANT), Directory.ALL, name, Directory.ACTIVE, now, doc);
        return Rows.withLabels(row, labels);
    }

    static TenantJson form(Row row) {
        Directory.Tenant tenant = Directory.of(row);
        return new TenantJson(
                tenant.id(),
                tenant.name(),
                tenant.state(),
                tenant.quotas(),
                row.labels(),
                row.created(),
                row.version());
    }

    private void requireService(Caller caller) {
        Access.require(caller, "tenants:write");
        if (!directory.runsService(caller)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "Tenants are made and changed by those who run the service.")
                    .withRemedy("Ask them.");
        }
    }

    @Override
    public TenantJson create(Caller caller, TenantRequest request) {
        requireService(caller);
        PolicyRules.checkName("name", String.valueOf(request.name()));
        QuotaRules.check(request.quotas());
        PolicyRules.checkLabels(request.labels());
        PolicyJson policy = request.policy() == null ? PolicyJson.defaults() : request.policy();
        PolicyRules.check(policy);
        Row row = fresh(request.name(), request.labels(), request.quotas(), ledger.now());
        ledger.write(tx -> {
            tx.insert(Kind.TENANT, row);
            tx.insert(Kind.POLICY, Policies.own(row.id(), policy, ledger.now()));
            event(tx, caller, EventType.TENANT_CREATED, row, "requested");
            return row;
        });
        directory.forget();
        return form(row);
    }

    private void event(Store.Tx tx, Caller caller, EventType type, Row row, String reason) {
        ledger.event(
                tx,
                caller,
                type,
                Ledger.Subject.tenant(row.id()),
                reason,
                Map.of("name", String.valueOf(row.name())));
    }

    /** A tenant that this caller may see. */
    private static Row visible(Store.Tx tx, Caller caller, String id, boolean service) {
        Row row =
                Rows.require(
                        tx, Kind.TENANT, Directory.ALL, id.equals(SELF) ? caller.tenant() : id);
        boolean own = row.id().equals(caller.tenant());
        if (row.state().equals(Directory.DELETED) || !(own || service)) {
            throw Rows.missing(Kind.TENANT, id);
        }
        return row;
    }

    @Override
    public TenantJson find(Caller caller, String id) {
        Access.require(caller, "tenants:read");
        boolean service = directory.runsService(caller);
        return form(ledger.read(tx -> visible(tx, caller, id, service)));
    }

    @Override
    public Page<TenantJson> list(Caller caller, Listing listing) {
        Access.require(caller, "tenants:read");
        if (!directory.runsService(caller)) {
            return new Page<>(List.of(find(caller, SELF)), null);
        }
        Query all =
                Query.of(Directory.ALL)
                        .withStates(Directory.ACTIVE, Directory.SUSPENDED, Directory.DELETING);
        Query query = cursors.page(all, listing, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.TENANT, query));
        return cursors.answer(rows, query, listing, NOUN, Tenants::form);
    }

    @Override
    public TenantJson patch(Caller caller, String id, TenantPatch patch, @Nullable Long version) {
        Access.require(caller, "tenants:write");
        QuotaRules.merged(QuotaJson.NONE, patch.quotas());
        checkState(patch.state());
        boolean service = directory.runsService(caller);
        Row seen = ledger.read(tx -> visible(tx, caller, id, service));
        requireService(caller);
        if (Directory.SUSPENDED.equals(patch.state()) && seen.id().equals(directory.home())) {
            throw ownHome("suspended");
        }
        Row row = ledger.write(tx -> patch(tx, caller, seen.id(), patch, version));
        directory.forget();
        changed.accept(row.id());
        return form(row);
    }

    private static void checkState(@Nullable String state) {
        if (state != null
                && !state.equals(Directory.ACTIVE)
                && !state.equals(Directory.SUSPENDED)) {
            throw CaissonException.invalid("state", "'" + state + "' is no state to choose.")
                    .withDetail("allowed", "active, suspended");
        }
    }

    private Row patch(
            Store.Tx tx, Caller caller, String id, TenantPatch patch, @Nullable Long version) {
        Row row = Rows.require(tx, Kind.TENANT, Directory.ALL, id);
        Rows.match(row, Kind.TENANT, version);
        if (!row.state().equals(Directory.ACTIVE) && !row.state().equals(Directory.SUSPENDED)) {
            throw CaissonException.of(
                    ErrorCode.INVALID_STATE, "The tenant " + row.name() + " is being deleted.");
        }
        String state = patch.state() == null ? row.state() : patch.state();
        QuotaJson quotas = Json.read(row.body(), Directory.Doc.class).quotas();
        Directory.Doc doc = new Directory.Doc(QuotaRules.merged(quotas, patch.quotas()));
        Row next = Rows.with(row, state, row.due(), doc);
        if (patch.labels() != null) {
            Map<String, String> labels = Forms.merged(row.labels(), patch.labels());
            PolicyRules.checkLabels(labels);
            next = Rows.withLabels(next, labels);
        }
        event(tx, caller, EventType.TENANT_CHANGED, row, next.state());
        return tx.update(Kind.TENANT, next);
    }

    private static CaissonException ownHome(String what) {
        return CaissonException.of(
                        ErrorCode.INVALID_STATE,
                        "The tenant of those who run the service cannot be " + what + ".")
                .withRemedy("Stop the server and delete its data instead.");
    }

    /**
     * Ends its sandboxes and erases its data. Repeated after a crash it goes on where it was.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} for the home tenant
     */
    @Override
    public ErasureJson delete(Caller caller, String id) {
        Access.require(caller, "tenants:write");
        boolean service = directory.runsService(caller);
        Row row = ledger.read(tx -> visible(tx, caller, id, service));
        requireService(caller);
        if (row.id().equals(directory.home())) {
            throw ownHome("deleted");
        }
        ErasureJson erased = erasure.erase(caller, row.id());
        changed.accept(row.id());
        return erased;
    }
}
