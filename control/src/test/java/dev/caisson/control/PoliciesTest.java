package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PolicyJson;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

final class PoliciesTest {
    private final Fixture fixture = new Fixture();
    private final Policies policies = fixture.policies;
    private final Caller admin = fixture.admin();

    private static PolicyJson policy(String json) {
        return Json.request(json.getBytes(StandardCharsets.UTF_8), PolicyJson.class);
    }

    @Test
    void theExampleOfTheDocumentationHasEveryFieldAndIsTaken() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "tenants.md"));
        int begin = page.indexOf("```json\n") + "```json\n".length();
        PolicyJson example = policy(page.substring(begin, page.indexOf("```", begin)));
        JsonNode tree = Json.LENIENT.valueToTree(example);
        List<String> answered = List.of("id", "name", "tenant", "version");
        for (RecordComponent field : PolicyJson.class.getRecordComponents()) {
            if (!answered.contains(field.getName())) {
                assertThat(tree.path(field.getName()).isMissingNode())
                        .as(field.getName())
                        .isFalse();
                assertThat(tree.path(field.getName()).isNull()).as(field.getName()).isFalse();
            }
            assertThat(page).contains("`" + field.getName() + "`");
        }
        for (RecordComponent limit : LimitsJson.class.getRecordComponents()) {
            assertThat(tree.path("maxLimits").hasNonNull(limit.getName()))
                    .as(limit.getName())
                    .isTrue();
        }
        assertThat(tree.path("ask").path(0).propertyNames())
                .containsExactlyInAnyOrder("kind", "commands", "users", "paths");
        policies.put(admin, "example", example, null);
        assertThat(policies.effective(admin, "example").maxLimits().pids()).isEqualTo(512);
    }

    @Test
    void layersOfTenantKeyAndRequestNarrow() {
        policies.put(
                admin,
                "default",
                policy("{\"root\":\"allowed\",\"maxLimits\":{\"pids\":100}}"),
                null);
        policies.put(
                admin, "key", policy("{\"root\":\"allowed\",\"maxLimits\":{\"pids\":50}}"), null);
        policies.put(admin, "asked", policy("{\"maxLimits\":{\"pids\":70}}"), null);
        Caller agent =
                fixture.keys.authenticate(
                        Fixture.text(
                                fixture.keys.create(
                                        admin,
                                        new KeyRequest(null, null, List.of(), null, "key"))));
        assertThat(policies.effective(admin, null).maxLimits().pids()).isEqualTo(100);
        assertThat(policies.effective(agent, null).maxLimits().pids()).isEqualTo(50);
        assertThat(policies.effective(agent, null).root()).isTrue();
        EffectivePolicy all = policies.effective(agent, "asked");
        assertThat(all.maxLimits().pids()).isEqualTo(50);
        assertThat(all.root()).isFalse();
        assertThat(all.version()).matches("default@2\\.\\w{6},key@1\\.\\w{6},asked@1\\.\\w{6}");
        refused(ErrorCode.NOT_FOUND, () -> policies.effective(agent, "nobody"));
    }

    @Test
    void changesCountAtOnceHereAndWithinASecondElsewhere() {
        Fixture other = fixture.server("two");
        assertThat(other.policies.effective(admin, null).root()).isFalse();
        assertThat(policies.effective(admin, null).root()).isFalse();
        policies.put(admin, "default", policy("{\"root\":\"allowed\"}"), null);
        assertThat(policies.effective(admin, null).root()).isTrue();
        fixture.clock.advance(Duration.ofSeconds(1));
        assertThat(other.policies.effective(admin, null).root()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"tiers\":[\"auto\"]}",
                "{\"tiers\":[\"vm\"]}",
                "{\"minTier\":\"unknown\"}",
                "{\"maxLimits\":{\"pids\":1}}",
                "{\"maxLimits\":{\"memoryBytes\":-1}}",
                "{\"maxLimits\":{\"timeoutMillis\":9223372036854775807}}",
                "{\"defaultLimits\":{\"onOutputLimit\":\"shrug\"}}",
                "{\"templates\":[\"../etc\"]}",
                "{\"root\":\"yes\"}",
                "{\"maxLifeMillis\":0}",
                "{\"approvalTimeoutMillis\":-5}",
                "{\"ask\":[{\"kind\":\"all\"}]}",
                "{\"ask\":[{\"kind\":\"exec\",\"commands\":[\" \"]}]}",
                "{\"ask\":[{\"kind\":\"exec\",\"paths\":[\"etc\"]}]}",
                "{\"ask\":[{}]}",
                "{\"egress\":{\"allow\":[{\"host\":\"*\"}]}}",
                "{\"egress\":{\"mode\":\"open\"}}",
                "{\"egress\":{\"allow\":[{\"cidr\":\"10.0.0.1/8\",\"ports\":[1]}]}}",
                "{\"name\":\"another\"}"
            })
    void whatNobodyUnderstandsIsNotStored(String json) {
        refused(ErrorCode.INVALID, () -> policies.put(admin, "p", policy(json), null));
        refused(ErrorCode.NOT_FOUND, () -> policies.find(admin, "p"));
    }

    @Test
    void namesAreStrict() {
        String id = policies.put(admin, "p", PolicyJson.defaults(), null).id();
        for (String name : List.of("", "-a", "A", "a".repeat(40), "a/b", String.valueOf(id))) {
            refused(
                    ErrorCode.INVALID,
                    () -> policies.put(admin, name, PolicyJson.defaults(), null));
        }
    }

    @Test
    void whatCannotBeReadAllowsNothing() {
        fixture.store.write(tx -> {
            Row row = tx.named(Kind.POLICY, admin.tenant(), "default").orElseThrow();
            return tx.update(
                    Kind.POLICY,
                    new Row(
                            row.id(),
                            row.tenant(),
                            null,
                            row.name(),
                            row.state(),
                            null,
                            row.created(),
                            null,
                            row.labels(),
                            row.version(),
                            "{\"denyOfTomorrow\":true}"));
        });
        refused(ErrorCode.POLICY_DENIED, () -> policies.effective(admin, null));
        fixture.store.write(
                tx -> tx.deleteAll(Kind.POLICY, Query.of(admin.tenant()).withName("default")));
        fixture.clock.advance(Duration.ofSeconds(1));
        refused(ErrorCode.POLICY_DENIED, () -> policies.effective(admin, null));
    }

    @Test
    void versionsAreMatched() {
        PolicyJson one = policies.put(admin, "p", PolicyJson.defaults(), null);
        assertThat(one.version()).isEqualTo(1);
        PolicyJson two = policies.put(admin, "p", PolicyJson.defaults(), 1L);
        assertThat(two.version()).isEqualTo(2);
        assertThat(two.id()).isEqualTo(one.id());
        refused(
                ErrorCode.PRECONDITION_FAILED,
                () -> policies.put(admin, "p", PolicyJson.defaults(), 1L));
        refused(ErrorCode.NOT_FOUND, () -> policies.put(admin, "q", PolicyJson.defaults(), 1L));
        assertThat(Collections.frequency(fixture.types(admin.tenant()), "policy.changed"))
                .isEqualTo(2);
    }

    @Test
    void defaultStaysAndAnotherTenantsDoNotExist() {
        refused(ErrorCode.INVALID_STATE, () -> policies.delete(admin, "default"));
        Caller a = fixture.tenant(admin, "a", null);
        Caller b = fixture.tenant(admin, "b", null);
        String id = String.valueOf(policies.put(b, "own", PolicyJson.defaults(), null).id());
        refused(ErrorCode.NOT_FOUND, () -> policies.find(a, id));
        refused(ErrorCode.NOT_FOUND, () -> policies.find(a, "own"));
        refused(ErrorCode.NOT_FOUND, () -> policies.delete(a, id));
        refused(ErrorCode.NOT_FOUND, () -> policies.effective(a, id));
        assertThat(policies.list(a, Listing.FIRST).items())
                .extracting(PolicyJson::name)
                .containsExactly("default");
        Caller agent = fixture.caller(a, Role.AGENT);
        refused(
                ErrorCode.POLICY_DENIED,
                () -> policies.put(agent, "p", PolicyJson.defaults(), null));
    }

    @Test
    void whoActsForATenantIsStillNarrowedByItsOwnPolicy() {
        Caller a = fixture.tenant(admin, "a", null);
        policies.put(a, "default", policy("{\"maxLimits\":{\"pids\":100}}"), null);
        policies.put(admin, "small", policy("{\"maxLimits\":{\"pids\":10}}"), null);
        Caller operator =
                fixture.keys.authenticate(
                        Fixture.text(
                                fixture.keys.create(
                                        admin,
                                        new KeyRequest(
                                                null, "operator", List.of(), null, "small"))));
        Caller acting = fixture.acting.actFor(operator, "a");
        assertThat(policies.effective(acting, null).maxLimits().pids()).isEqualTo(10);
    }
}
