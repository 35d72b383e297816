package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.Fixture.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ErasureJson;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.QuotaJson;
import dev.caisson.v1.TenantJson;
import dev.caisson.v1.TenantPatch;
import dev.caisson.v1.TenantRequest;
import dev.caisson.v1.UsageRow;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class TenantsTest {
    private static final TenantPatch SUSPEND = new TenantPatch(null, "suspended", null);

    private final Fixture fixture = new Fixture();
    private final Tenants tenants = fixture.tenants;
    private final Caller admin = fixture.admin();

    @Test
    void tenantHasAPolicyQuotasAndAnEvent() {
        TenantJson made =
                tenants.create(
                        admin, new TenantRequest("team", quota(5), null, Map.of("plan", "free")));
        assertThat(made.state()).isEqualTo("active");
        assertThat(made.version()).isEqualTo(1);
        Caller acting = fixture.acting.actFor(admin, "team");
        assertThat(fixture.policies.find(acting, "default").name()).isEqualTo("default");
        assertThat(fixture.types(made.id())).startsWith("tenant.created");
        assertThat(tenants.find(admin, "team")).isEqualTo(made);
        refused(
                ErrorCode.ALREADY_EXISTS,
                () -> tenants.create(admin, new TenantRequest("team", null, null, Map.of())));
        refused(
                ErrorCode.INVALID,
                () -> tenants.create(admin, new TenantRequest("Team", null, null, Map.of())));
        refused(
                ErrorCode.INVALID,
                () -> tenants.create(admin, new TenantRequest("t", quota(-1), null, Map.of())));
    }

    private static QuotaJson quota(long sandboxes) {
        return new QuotaJson(sandboxes, null, null, null, null, null, null, null, null, null);
    }

    @Test
    void suspendedTenantsKeysAreDeniedUntilItIsActiveAgain() {
        Caller a = fixture.tenant(admin, "a", null);
        String key = Fixture.text(fixture.keys.create(a, request(Role.AGENT)));
        tenants.patch(admin, "a", SUSPEND, null);
        refused(ErrorCode.POLICY_DENIED, () -> fixture.keys.authenticate(key));
        tenants.patch(admin, "a", new TenantPatch(null, "active", null), null);
        fixture.keys.authenticate(key);
        refused(ErrorCode.INVALID_STATE, () -> tenants.patch(admin, "default", SUSPEND, null));
        refused(
                ErrorCode.INVALID,
                () -> tenants.patch(admin, "a", new TenantPatch(null, "deleting", null), null));
    }

    @Test
    void patchChangesWhatItNamesOnItsVersion() {
        TenantJson made =
                tenants.create(admin, new TenantRequest("a", quota(1), null, Map.of("k", "v")));
        TenantJson next =
                tenants.patch(admin, made.id(), new TenantPatch(quota(2).patch(), null, null), 1L);
        assertThat(next.quotas().sandboxes()).isEqualTo(2);
        assertThat(next.labels()).containsEntry("k", "v");
        assertThat(next.version()).isEqualTo(2);
        refused(ErrorCode.PRECONDITION_FAILED, () -> tenants.patch(admin, made.id(), SUSPEND, 1L));
    }

    /** One that names a single quota must not lift all others. */
    @Test
    void aPatchLeavesTheQuotasAndLabelsThatItDoesNotName() {
        TenantJson made =
                tenants.create(
                        admin,
                        new TenantRequest("a", quota(1), null, Map.of("k", "v", "gone", "x")));
        Map<String, @Nullable Long> more = new HashMap<>();
        more.put("memoryBytes", 5L);
        more.put("weight", 7L);
        Map<String, @Nullable String> labels = new HashMap<>();
        labels.put("gone", null);
        labels.put("new", "y");
        TenantJson next =
                tenants.patch(admin, made.id(), new TenantPatch(more, null, labels), null);
        assertThat(next.quotas().patch())
                .isEqualTo(Map.of("sandboxes", 1L, "memoryBytes", 5L, "weight", 7L));
        assertThat(next.labels()).isEqualTo(Map.of("k", "v", "new", "y"));

        Map<String, @Nullable Long> less = new HashMap<>();
        less.put("sandboxes", null);
        TenantJson last = tenants.patch(admin, made.id(), new TenantPatch(less, null, null), null);
        assertThat(last.quotas().patch()).isEqualTo(Map.of("memoryBytes", 5L, "weight", 7L));

        for (Map<String, @Nullable Long> wrong :
                List.of(
                        Map.<String, @Nullable Long>of("sandboxen", 1L),
                        Map.<String, @Nullable Long>of("sandboxes", -1L),
                        Map.<String, @Nullable Long>of("weight", 5000L))) {
            refused(
                    ErrorCode.INVALID,
                    () ->
                            tenants.patch(
                                    admin, made.id(), new TenantPatch(wrong, null, null), null));
        }
        assertThat(tenants.find(admin, made.id()).quotas()).isEqualTo(last.quotas());
    }

    @Test
    void othersSeeAndChangeOnlyWhatTheyMay() {
        Caller a = fixture.tenant(admin, "a", null);
        Caller b = fixture.tenant(admin, "b", null);
        refused(ErrorCode.NOT_FOUND, () -> tenants.find(a, b.tenant()));
        refused(ErrorCode.NOT_FOUND, () -> tenants.find(a, "b"));
        refused(ErrorCode.NOT_FOUND, () -> tenants.patch(a, b.tenant(), SUSPEND, null));
        refused(ErrorCode.NOT_FOUND, () -> tenants.delete(a, b.tenant()));
        refused(ErrorCode.POLICY_DENIED, () -> tenants.patch(a, "self", SUSPEND, null));
        refused(ErrorCode.POLICY_DENIED, () -> tenants.delete(a, a.tenant()));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> tenants.create(a, new TenantRequest("c", null, null, Map.of())));
        assertThat(tenants.find(a, "self").id()).isEqualTo(a.tenant());
        assertThat(tenants.list(a, Listing.FIRST).items())
                .extracting(TenantJson::id)
                .containsExactly(a.tenant());
        assertThat(tenants.list(admin, Listing.FIRST).items()).hasSize(3);
    }

    @Test
    void deletionErasesAndReportsWhatIsKept() {
        Caller a = fixture.tenant(admin, "a", null);
        Caller b = fixture.tenant(admin, "b", null);
        KeyJson key = fixture.keys.create(a, request(Role.AGENT));
        fixture.policies.put(a, "own", PolicyJson.defaults(), null);
        fixture.store.write(tx -> {
            tx.addUsage(usage(a.tenant()));
            return true;
        });
        fixture.eraser = tenant -> Map.of("sandboxes", 2L);
        ErasureJson erased = tenants.delete(admin, "a");
        assertThat(erased.erased())
                .containsEntry("sandboxes", 2L)
                .containsEntry("keys", 2L)
                .containsEntry("policies", 2L);
        assertThat(erased.kept()).containsEntry("usage", 1L).containsKey("events");
        assertThat(erased.why()).contains("audit");
        refused(ErrorCode.UNAUTHENTICATED, () -> fixture.keys.authenticate(Fixture.text(key)));
        refused(ErrorCode.NOT_FOUND, () -> tenants.find(admin, "a"));
        refused(ErrorCode.NOT_FOUND, () -> tenants.delete(admin, a.tenant()));
        assertThat(fixture.types(a.tenant())).endsWith("tenant.deleted");
        assertThat(fixture.policies.list(b, Listing.FIRST).items()).hasSize(1);
        tenants.create(admin, new TenantRequest("a", null, null, Map.of()));
        fixture.clock.advance(Duration.ofDays(1));
        assertThat(fixture.erasure.purge(fixture.ledger.now())).isEqualTo(1);
        assertThat(fixture.events(a.tenant())).isEmpty();
        refused(ErrorCode.INVALID_STATE, () -> tenants.delete(admin, "default"));
    }

    private UsageRow usage(String tenant) {
        return new UsageRow(
                fixture.ledger.now().truncatedTo(ChronoUnit.HOURS),
                tenant,
                "sb1",
                "ss1",
                null,
                1,
                1,
                1,
                1,
                1,
                1,
                1);
    }

    @Test
    void crashMidwayIsGoneOnWithAfterTheNextStart() {
        Caller a = fixture.tenant(admin, "a", null);
        fixture.eraser =
                tenant -> {
                    throw new IllegalStateException("crash");
                };
        assertThat(catchThrowable(() -> tenants.delete(admin, "a")))
                .isInstanceOf(IllegalStateException.class);
        assertThat(tenants.find(admin, "a").state()).isEqualTo("deleting");
        refused(ErrorCode.INVALID_STATE, () -> tenants.patch(admin, "a", SUSPEND, null));
        fixture.keys.forget();
        Fixture again = fixture.server("one");
        again.erasure.resume();
        refused(ErrorCode.NOT_FOUND, () -> again.tenants.find(admin, "a"));
        List<Row> keys = again.store.read(tx -> tx.list(Kind.KEY, Query.of(a.tenant())));
        assertThat(keys).isEmpty();
        assertThat(again.types(a.tenant())).endsWith("tenant.deleted");
    }
}
