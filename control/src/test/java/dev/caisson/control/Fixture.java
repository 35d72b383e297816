package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.TenantRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;

/** One server's tenants, keys and policies over a store in memory; started once. */
final class Fixture {
    final ManualClock clock;
    final MemoryStore store;
    final Ledger ledger;
    final Vault vault;
    final Cursors cursors;
    final Directory directory;
    final Keys keys;
    final Policies policies;
    final Acting acting;
    final Quotas quotas;
    final Tenants tenants;
    final Erasure erasure;

    /** What the next erasures do outside. */
    Eraser eraser = tenant -> Map.of();

    /** What a tenant has used in this hour. */
    Hour hour = Hour.NONE;

    Fixture() {
        this(new MemoryStore(), new ManualClock(), new Vault(Vault.newKey()));
    }

    private Fixture(MemoryStore store, ManualClock clock, Vault vault) {
        this.store = store;
        this.clock = clock;
        this.vault = vault;
        ledger = new Ledger(store, clock);
        cursors = new Cursors(vault);
        directory = new Directory(ledger);
        keys = new Keys(ledger, cursors, directory);
        policies = new Policies(ledger, cursors);
        acting = new Acting(ledger, directory);
        quotas = new Quotas(ledger, directory, tenant -> hour);
        erasure =
                new Erasure(
                        ledger,
                        directory,
                        tenant -> eraser.erase(tenant),
                        () -> {
                            keys.forget();
                            policies.forget();
                        },
                        Duration.ZERO);
        tenants = new Tenants(ledger, cursors, directory, erasure, quotas::changed);
    }

    /** Another server on the same store, or a later start of one. */
    Fixture server(String node) {
        return new Fixture(store.server(node), clock, vault);
    }

    /** The admin of a first start. */
    Caller admin() {
        return keys.authenticate(text(keys.bootstrap().orElseThrow()));
    }

    static String text(KeyJson key) {
        return Objects.requireNonNull(key.key());
    }

    /** A new tenant's admin. */
    Caller tenant(Caller admin, String name, @Nullable QuotaJson quotas) {
        String id = tenants.create(admin, new TenantRequest(name, quotas, null, Map.of())).id();
        return caller(acting.actFor(admin, id), Role.ADMIN);
    }

    /** The holder of a new key of the same tenant. */
    Caller caller(Caller maker, Role role, String... scopes) {
        return keys.authenticate(text(keys.create(maker, request(role, scopes))));
    }

    static KeyRequest request(Role role, String... scopes) {
        return new KeyRequest(null, role.value(), List.of(scopes), null, null);
    }

    List<EventJson> events(String tenant) {
        return store.read(tx -> tx.events(tenant, 0, 10_000, null, null));
    }

    List<String> types(String tenant) {
        return events(tenant).stream().map(EventJson::type).toList();
    }

    /** Asserts the code of what is thrown, and gives it. */
    static CaissonException refused(ErrorCode code, ThrowingCallable call) {
        Throwable thrown = Assertions.catchThrowable(call);
        Assertions.assertThat(thrown).isInstanceOf(CaissonException.class);
        CaissonException refusal = (CaissonException) Objects.requireNonNull(thrown);
        Assertions.assertThat(refusal.code()).as(refusal.message()).isEqualTo(code);
        return refusal;
    }
}
