package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.SecretStage.HOST;
import static dev.caisson.control.SecretStage.VALUE;
import static dev.caisson.control.SecretStage.allowing;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretSource;
import dev.caisson.v1.SecretSpec;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class SecretUsesTest {
    private final SecretStage stage = new SecretStage();
    private final SecretUses uses = stage.uses;
    private final String tenant = stage.one.tenant();

    private Map<String, String> resolve(EgressJson layer, String... names) {
        return uses.resolve(tenant, List.of(layer), List.of(names), Set.of());
    }

    @Test
    void aPlaceholderIsTheSameInOneSandboxAndInNoOther() {
        Vault vault = stage.fixture.vault;
        String one = SecretUses.placeholder(vault, "sb1", "sc1");

        assertThat(one)
                .matches("csp_[0-9a-f]{32}")
                .isEqualTo(SecretUses.placeholder(vault, "sb1", "sc1"))
                .isNotEqualTo(SecretUses.placeholder(vault, "sb2", "sc1"))
                .isNotEqualTo(SecretUses.placeholder(vault, "sb1", "sc2"))
                .isNotEqualTo(SecretUses.placeholder(new Vault(Vault.newKey()), "sb1", "sc1"));
    }

    @Test
    void namesBecomeIdsAndVariablesHoldPlaceholders() {
        SecretJson made = stage.make(stage.one, "key", VALUE);

        Map<String, String> found = resolve(allowing("key", "more"), "key", "key");

        assertThat(found).containsExactly(Map.entry(made.id(), "TOKEN"));
        assertThat(uses.env("sb1", found))
                .containsExactly(
                        Map.entry(
                                "TOKEN",
                                SecretUses.placeholder(stage.fixture.vault, "sb1", made.id())));
        uses.open("sb1", found);
        assertThat(uses.of("sb1").getFirst().placeholder())
                .isEqualTo(uses.env("sb1", found).get("TOKEN"));
    }

    @Test
    void anUnknownNameIsAnErrorAndNeverAWord() {
        CaissonException why =
                refused(ErrorCode.NOT_FOUND, () -> resolve(allowing("toString"), "toString"));

        assertThat(why.message()).contains("toString");
    }

    @Test
    void anotherTenantsSecretOfThatNameIsNotFound() {
        SecretJson theirs = stage.make(stage.other, "key", VALUE);
        refused(ErrorCode.NOT_FOUND, () -> resolve(allowing("key"), "key"));
        refused(ErrorCode.NOT_FOUND, () -> resolve(allowing("key", theirs.id()), theirs.id()));

        SecretJson mine = stage.make(stage.one, "key", VALUE);

        assertThat(resolve(allowing("key"), "key")).containsOnlyKeys(mine.id());
        // By its id nobody lists it, so nothing is found around the policy.
        refused(ErrorCode.POLICY_DENIED, () -> resolve(allowing("key"), mine.id()));
    }

    @Test
    void everyLayerMustListIt() {
        stage.make(stage.one, "key", VALUE);
        for (List<EgressJson> layers :
                List.of(
                        List.<EgressJson>of(),
                        List.of(EgressJson.closed()),
                        List.of(allowing("key"), EgressJson.closed()),
                        List.of(allowing("other"), allowing("key")))) {
            refused(
                    ErrorCode.POLICY_DENIED,
                    () -> uses.resolve(tenant, layers, List.of("key"), Set.of()));
        }

        assertThat(
                        uses.resolve(
                                tenant,
                                List.of(allowing("key"), allowing("key", "x")),
                                List.of("key"),
                                Set.of()))
                .hasSize(1);
    }

    @Test
    void aVariableIsSetOnce() {
        stage.make(stage.one, "one", VALUE);
        stage.make(stage.one, "two", VALUE);

        refused(ErrorCode.INVALID, () -> resolve(allowing("one", "two"), "one", "two"));
        refused(
                ErrorCode.INVALID,
                () ->
                        uses.resolve(
                                tenant, List.of(allowing("one")), List.of("one"), Set.of("TOKEN")));
        assertThat(resolve(allowing("one", "two"), "one")).hasSize(1);
    }

    @Test
    void whatHasComeToItsEndIsRefused() {
        stage.secrets.create(
                stage.one,
                new SecretRequest(
                        "key", SecretSource.ofValue(VALUE), SecretStage.bearer(HOST), null, 1000L));
        assertThat(resolve(allowing("key"), "key")).hasSize(1);
        stage.fixture.clock.advance(Duration.ofSeconds(1));

        CaissonException why =
                refused(ErrorCode.INVALID_STATE, () -> resolve(allowing("key"), "key"));
        assertThat(why.details()).containsEntry("current", "expired");
    }

    @Test
    void thereAreAtMostSoMany() {
        List<String> names = Collections.nCopies(33, "key");

        refused(
                ErrorCode.INVALID,
                () -> uses.resolve(tenant, List.of(allowing("key")), names, Set.of()));
    }

    @Test
    void aSecretWithoutAVariableSetsNone() {
        SecretSpec plain = SecretStage.bearer(HOST);
        stage.secrets.create(
                stage.one,
                SecretStage.request(
                        "key",
                        SecretSource.ofValue(VALUE),
                        new SecretSpec(plain.bindings(), null, null, null, null)));

        assertThat(uses.env("sb1", resolve(allowing("key"), "key"))).isEmpty();
    }
}
