package dev.caisson.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import dev.caisson.control.Proof;
import dev.caisson.control.Role;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Who gets in, and who decides. */
class ControlGateTest {
    private static final Map<String, Caller> KEYS =
            Map.of(
                    "agent", caller("key1", "a", Role.AGENT),
                    "other", caller("key2", "b", Role.AGENT),
                    "boss", caller("key3", "a", Role.OPERATOR));

    private final Control control =
            new Stub<>(Control.class)
                    .on(
                            "authenticate",
                            given -> {
                                Caller caller = KEYS.get((String) given[0]);
                                if (caller == null) {
                                    throw CaissonException.of(ErrorCode.UNAUTHENTICATED, "no");
                                }
                                return caller;
                            })
                    .on("require", given -> null)
                    .make();

    private static Caller caller(String key, String tenant, Role role) {
        return new Caller(
                tenant, key, "somebody", role, Set.of(), null, false, Map.of(), null, Proof.NONE);
    }

    private static Gate.Access open(ControlGate gate, String key) {
        return gate.open(Objects.requireNonNull(KEYS.get(key)));
    }

    /** The approver's key was revoked: no session is made, rather than one that nobody watches. */
    @Test
    void makesNoSessionWithAnApproverThatIsNone() {
        Gate.Access access = open(new ControlGate(control, "wrong"), "agent");
        assertThatThrownBy(() -> access.backend().get()).isInstanceOf(CaissonException.class);
    }

    @Test
    void bindsSessionsToTenantAndKey() {
        ControlGate gate = new ControlGate(control, null);
        assertThat(open(gate, "agent").owner()).startsWith("a/key1/");
        assertThat(open(gate, "agent").owner()).isEqualTo(open(gate, "agent").owner());
        Caller less =
                new Caller(
                        "a",
                        "key1",
                        "somebody",
                        Role.AUDITOR,
                        Set.of(),
                        null,
                        false,
                        Map.of(),
                        null,
                        Proof.NONE);
        assertThat(gate.open(less).owner()).isNotEqualTo(open(gate, "agent").owner());
        assertThat(open(gate, "agent").backend().get().decides()).isFalse();
    }

    @Test
    void givesTheApproverToOtherKeysOfItsTenantOnly() {
        ControlGate gate = new ControlGate(control, "boss");
        assertThat(open(gate, "agent").backend().get().decides()).isTrue();
        assertThat(open(gate, "other").backend().get().decides()).isFalse();
        assertThat(open(gate, "boss").backend().get().decides()).isFalse();
    }
}
