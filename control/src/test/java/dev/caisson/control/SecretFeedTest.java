package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.SecretStage.HOST;
import static dev.caisson.control.SecretStage.VALUE;
import static dev.caisson.control.SecretStage.limited;
import static dev.caisson.control.SecretStage.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretUse;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class SecretFeedTest {
    private final SecretStage stage =
            new SecretStage(new SecretConfig(List.of(), Set.of("VAR"), Map.of()));
    private final FakeSink sink = stage.sink;
    private final SecretUses uses = stage.uses;

    private String secret(String name) {
        return stage.make(stage.one, name, VALUE).id();
    }

    private void rotate(String id, String value) {
        stage.secrets.rotate(
                stage.one,
                id,
                new SecretRotateRequest(SecretSource.ofValue(value), null, null, null));
    }

    private static Map<String, String> of(String... ids) {
        Map<String, String> all = new java.util.LinkedHashMap<>();
        for (String id : ids) {
            all.put(id, "");
        }
        return all;
    }

    private void passes(Duration time) {
        stage.fixture.clock.advance(time);
        uses.tick();
    }

    @Test
    void theGatewayHasOnlyWhatIsInUse() {
        String used = secret("used");
        secret("unused");

        uses.open("sb1", of(used));
        uses.open("sb2", of(used));

        assertThat(sink.secrets).containsOnlyKeys(used);
        assertThat(sink.put(used).value()).isEqualTo(VALUE);
        assertThat(sink.put(used).tenant()).isEqualTo(stage.one.tenant());
        assertThat(sink.told).containsExactly("put " + used, "use sb1", "use sb2");
        uses.gone("sb1");
        assertThat(sink.secrets).containsOnlyKeys(used);
        uses.gone("sb2");
        assertThat(sink.secrets).isEmpty();
        assertThat(stage.parts.count()).isZero();
    }

    @Test
    void aGatewayThatIsAwayIsAskedOnceInEachLookAndToldAllWhenItIsThere() {
        String first = secret("first");
        String second = secret("second");
        uses.open("sb1", of(first));
        uses.open("sb2", of(second));
        sink.away = true;
        sink.secrets.clear();
        stage.parts.connect(sink); // it was started anew, and is away again
        assertThat(sink.missed).as("a question takes long, and others wait").hasValue(1);
        uses.tick();
        assertThat(sink.missed).hasValue(2);
        sink.away = false;
        uses.tick();
        assertThat(sink.secrets).containsOnlyKeys(first, second);
    }

    @Test
    void aValueIsOverwrittenOnceItIsHandedOver() {
        uses.open("sb1", of(secret("key")));

        assertThat(sink.given).hasSize(1);
        assertThat(sink.given.getFirst()).hasSize(VALUE.length()).containsOnly(0);
    }

    @Test
    void aNewValueIsInForceAtOnce() {
        String id = secret("key");
        uses.open("sb1", of(id));

        rotate(id, "another-value");

        assertThat(sink.values()).containsExactly("another-value");
    }

    @Test
    void whatIsDeletedIsGoneAtOnce() {
        String id = secret("key");
        uses.open("sb1", of(id));
        assertThat(sink.secrets).containsKey(id);

        stage.secrets.delete(stage.one, "key");

        assertThat(sink.secrets).isEmpty();
        // A later one of that name is another: the sandbox does not get it.
        String later = secret("key");
        uses.tick();
        assertThat(later).isNotEqualTo(id);
        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void whatHasExpiredIsDropped() {
        SecretJson made =
                stage.secrets.create(
                        stage.one,
                        new SecretRequest(
                                "key",
                                SecretSource.ofValue(VALUE),
                                SecretStage.bearer(HOST),
                                null,
                                60_000L));
        uses.open("sb1", of(made.id()));
        passes(Duration.ofSeconds(59));
        assertThat(sink.secrets).containsKey(made.id());

        passes(Duration.ofSeconds(1));

        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void whatIsSpentIsDropped() {
        SecretJson made =
                stage.secrets.create(
                        stage.one, request("key", SecretSource.ofValue(VALUE), limited(2, 1000)));
        uses.open("sb1", of(made.id()));
        assertThat(sink.put(made.id()).spec()).contains("\"requests\":2");

        used(made.id(), 1, 10);
        uses.tick();
        assertThat(sink.secrets).containsKey(made.id());
        used(made.id(), 1, 10);
        uses.tick();

        assertThat(sink.secrets).isEmpty();
        SecretJson told = stage.secrets.find(stage.one, "key");
        assertThat(told.state()).isEqualTo("spent");
        assertThat(told.uses()).isEqualTo(2);
        assertThat(told.bytes()).isEqualTo(20);
        assertThat(told.lastUsedAt()).isEqualTo(stage.fixture.ledger.now());
    }

    private void used(String id, long requests, long bytes) {
        stage.fixture.ledger.act(tx ->
                SecretUses.used(
                        tx, stage.one.tenant(), id, requests, bytes, stage.fixture.ledger.now()));
    }

    @Test
    void theGatewayIsToldWhatIsLeft() {
        SecretJson made =
                stage.secrets.create(
                        stage.one, request("key", SecretSource.ofValue(VALUE), limited(5, 1000)));
        used(made.id(), 2, 400);

        uses.open("sb1", of(made.id()));

        assertThat(sink.put(made.id()).spec()).contains("\"requests\":3", "\"bytes\":600");
    }

    @Test
    void whatSomebodyElsesSandboxClaimsToUseIsNotCounted() {
        String id = secret("key");

        stage.fixture.ledger.act(tx ->
                SecretUses.used(tx, stage.other.tenant(), id, 9, 9, stage.fixture.ledger.now()));

        assertThat(stage.secrets.find(stage.one, "key").uses()).isZero();
    }

    @Test
    void withoutAGatewayASandboxDoesNotBegin() {
        String id = secret("key");
        sink.away = true;

        refused(ErrorCode.LAUNCHER_UNAVAILABLE, () -> uses.open("sb1", of(id)));

        assertThat(uses.of("sb1")).isEmpty();
        assertThat(stage.parts.count()).isZero();
        uses.gone("sb1");
        sink.away = false;
        uses.open("sb1", of(id));
        assertThat(uses.of("sb1")).hasSize(1);
    }

    @Test
    void aRevocationThatTheGatewayDidNotHearIsSaidAgain() {
        String id = secret("key");
        uses.open("sb1", of(id));
        sink.away = true;
        stage.secrets.delete(stage.one, "key");
        uses.tick();
        assertThat(sink.secrets).containsKey(id);

        sink.away = false;
        uses.tick();

        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void theEndOfASandboxThatTheGatewayDidNotHearIsSaidAgain() {
        String id = secret("key");
        uses.open("sb1", of(id));
        sink.away = true;
        uses.gone("sb1");
        assertThat(sink.secrets).containsKey(id);

        sink.away = false;
        uses.tick();

        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void anotherGatewayIsToldEverything() {
        String one = secret("one");
        String two = secret("two");
        uses.open("sb1", of(one, two));
        stage.secrets.delete(stage.one, "two");
        FakeSink next = new FakeSink();

        stage.parts.connect(next);

        assertThat(next.secrets).containsOnlyKeys(one);
        assertThat(next.told).contains("drop " + two, "use sb1");
        assertThat(next.uses.get("sb1")).hasSize(2);
    }

    @Test
    void whatAnotherServerChangesIsSeen() {
        String id = secret("key");
        uses.open("sb1", of(id));
        Fixture second = stage.fixture.server("second");
        Secrets there = stage.parts(second, SecretConfig.none()).service();

        there.rotate(
                stage.one,
                "key",
                new SecretRotateRequest(SecretSource.ofValue("from-there"), null, null, null));
        assertThat(sink.values()).containsExactly(VALUE);
        uses.tick();
        assertThat(sink.values()).containsExactly("from-there");
        there.delete(stage.one, "key");
        uses.tick();

        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void aSandboxThatLivedOnIsTakenUp() {
        String id = secret("key");
        sink.away = true;

        uses.adopt("sb1", of(id)); // nothing may stop a recovery

        assertThat(sink.secrets).isEmpty();
        sink.away = false;
        uses.tick();
        assertThat(sink.secrets).containsOnlyKeys(id);
        assertThat(sink.uses.get("sb1")).hasSize(1);
    }

    @Test
    void whatAnExecHasEndsWithItAndWhatTheSandboxHasStays() {
        String both = secret("both");
        String own = secret("own");
        uses.open("sb1", of(both));

        uses.open("sb1", of(both, own));
        assertThat(sink.uses.get("sb1")).hasSize(2);
        uses.close("sb1", of(both, own));

        assertThat(sink.secrets).containsOnlyKeys(both);
        assertThat(sink.uses.get("sb1")).hasSize(1);
        uses.close("sb2", of(both));
        assertThat(sink.secrets).containsOnlyKeys(both);
    }

    @Test
    void whatThePolicyDoesNotListAnyMoreIsTakenAway() {
        String key = secret("key");
        String more = secret("more");
        uses.open("sb1", of(key, more));

        uses.permit("sb1", List.of(SecretStage.allowing("key")));
        assertThat(sink.uses.get("sb1")).extracting(SecretUse::secret).containsExactly(key);
        uses.permit("sb1", List.of());
        assertThat(sink.uses.get("sb1")).isEmpty();
        int told = sink.told.size();
        uses.permit("sb1", List.of());
        assertThat(sink.told).hasSize(told);

        uses.permit("sb1", List.of(SecretStage.allowing("key", "more")));
        assertThat(sink.uses.get("sb1")).hasSize(2);
        uses.permit("sb2", List.of()); // one without secrets
    }

    private SecretJson ofVariable() {
        return stage.secrets.create(
                stage.admin,
                request(
                        "var",
                        new SecretSource(null, null, "VAR", null, 1000L),
                        SecretStage.bearer(HOST)));
    }

    @Test
    void aSourceIsReadAgainWhileItIsInUse() {
        stage.environment.put("VAR", "first-value");
        SecretJson made = ofVariable();
        uses.open("sb1", of(made.id()));
        stage.environment.put("VAR", "second-value");

        await().untilAsserted(() -> {
            passes(Duration.ofSeconds(1));
            assertThat(sink.values()).containsExactly("second-value");
        });

        assertThat(stage.secrets.find(stage.admin, "var").version()).isEqualTo(2);
        assertThat(stage.fixture.events(stage.admin.tenant()))
                .anyMatch(event ->
                        event.type().equals("secret.rotated")
                                && event.reason().equals("refreshed"));
    }

    @Test
    void theOldValueStaysWhenASourceFails() {
        stage.environment.put("VAR", "first-value");
        SecretJson made = ofVariable();
        uses.open("sb1", of(made.id()));
        stage.environment.remove("VAR");

        await().untilAsserted(() -> {
            passes(Duration.ofSeconds(1));
            assertThat(stage.secrets.find(stage.admin, "var").state()).isEqualTo("failing");
        });
        for (int i = 0; i < 5; i++) {
            passes(Duration.ofSeconds(1));
        }

        assertThat(sink.values()).containsExactly("first-value");
        assertThat(stage.secrets.find(stage.admin, "var").lastError()).contains("VAR");
        assertThat(stage.fixture.types(stage.admin.tenant()))
                .filteredOn("secret.failed"::equals)
                .hasSize(1);
        stage.environment.put("VAR", "first-value");
        await().untilAsserted(() -> {
            passes(Duration.ofSeconds(1));
            assertThat(stage.secrets.find(stage.admin, "var").state()).isEqualTo("active");
        });
        assertThat(stage.secrets.find(stage.admin, "var").version()).isEqualTo(1);
    }

    @Test
    void outputIsFreedOfTheValuesAndOfTheirSecretParts() {
        SecretJson login =
                stage.secrets.create(
                        stage.one,
                        request(
                                "login",
                                SecretSource.ofValue("some-user:some-password"),
                                SecretStage.spec(HOST, SecretStage.slot("{\"kind\":\"basic\"}"))));
        List<String> changed = new ArrayList<>();
        uses.watch(changed::add);

        uses.open("sb1", of(login.id()));

        assertThat(texts(uses.valuesFor("sb1")))
                .containsExactlyInAnyOrder("some-user:some-password", "some-password");
        assertThat(uses.valuesFor("sb2")).isEmpty();
        rotate(login.id(), "some-user:other-password");
        assertThat(texts(uses.valuesFor("sb1"))).contains("other-password");
        assertThat(changed).containsExactly("sb1", "sb1");
    }

    private static List<String> texts(List<byte[]> values) {
        return values.stream().map(one -> new String(one, StandardCharsets.UTF_8)).toList();
    }
}
