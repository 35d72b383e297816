package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ActingTest {
    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Caller a = fixture.tenant(admin, "a", null);
    private final Caller b = fixture.tenant(admin, "b", null);

    @Test
    void tenantSeesWhoActedOncePerMinute() {
        Caller operator = fixture.caller(admin, Role.OPERATOR);
        for (int i = 0; i < 3; i++) {
            Caller acting = fixture.acting.actFor(operator, "a");
            assertThat(acting.tenant()).isEqualTo(a.tenant());
            assertThat(acting.actingFor()).isTrue();
            assertThat(acting.keyId()).isEqualTo(operator.keyId());
        }
        assertThat(acted(operator)).isEqualTo(1);
        fixture.clock.advance(Duration.ofMinutes(1));
        fixture.acting.actFor(operator, a.tenant());
        assertThat(acted(operator)).isEqualTo(2);
    }

    private long acted(Caller operator) {
        return fixture.events(a.tenant()).stream()
                .filter(event -> event.type().equals("operator.acted"))
                .filter(event -> operator.keyId().equals(event.actor().keyId()))
                .count();
    }

    @Test
    void onlyThoseWhoRunTheServiceAct() {
        Caller agent = fixture.caller(admin, Role.AGENT);
        refused(ErrorCode.POLICY_DENIED, () -> fixture.acting.actFor(agent, "a"));
        refused(ErrorCode.POLICY_DENIED, () -> fixture.acting.actFor(a, "b"));
        refused(ErrorCode.POLICY_DENIED, () -> fixture.acting.actFor(a, "nobody"));
        refused(ErrorCode.NOT_FOUND, () -> fixture.acting.actFor(admin, "nobody"));
        assertThat(fixture.acting.actFor(a, a.tenant())).isEqualTo(a);
    }

    @Test
    void anEventThatFailedIsTriedAgain() {
        fixture.clock.advance(Duration.ofMinutes(2));
        int before = Collections.frequency(fixture.types(b.tenant()), "operator.acted");
        fixture.store.beforeNextCommit(() -> {
            throw new IllegalStateException("crash");
        });
        assertThat(
                        org.assertj.core.api.Assertions.catchThrowable(
                                () -> fixture.acting.actFor(admin, "b")))
                .isInstanceOf(IllegalStateException.class);
        fixture.acting.actFor(admin, "b");
        assertThat(Collections.frequency(fixture.types(b.tenant()), "operator.acted"))
                .isEqualTo(before + 1);
    }

    @Test
    void whatIsKeptOfADeletedTenantCanBeRead() {
        fixture.tenants.delete(admin, a.tenant());
        Caller acting = fixture.acting.actFor(admin, a.tenant());
        assertThat(acting.role()).isEqualTo(Role.AUDITOR);
        assertThat(new Events(fixture.ledger).list(acting, 0, 100, null, "tenant"))
                .extracting(event -> event.type())
                .contains("tenant.created", "tenant.deleted");
        assertThat(acting.claimed()).isEqualTo(Map.of());
        refused(ErrorCode.NOT_FOUND, () -> fixture.acting.actFor(admin, "a"));
    }
}
