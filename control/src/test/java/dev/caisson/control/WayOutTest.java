package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.FindingJson;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WayOutTest {
    private static final String OPEN =
            "{'allow':[{'host':'*.test'}],'secrets':['token'],'packages':{'npm':{}}}";

    @TempDir private Path folder;
    private @Nullable FakeHost opened;

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    private FakeHost host(boolean egress) {
        FakeHost host = egress ? FakeHost.openWithEgress(folder) : FakeHost.open(folder);
        opened = host;
        return host;
    }

    private static EgressJson egress(String json) {
        return read(json, EgressJson.class);
    }

    private static <T> T read(String json, Class<T> type) {
        return Json.request(json.replace('\'', '"').getBytes(StandardCharsets.UTF_8), type);
    }

    private static void policy(FakeHost host, String name, @Nullable String egress) {
        String json = egress == null ? "{}" : "{'egress':" + egress + "}";
        host.service.policies().put(host.admin, name, read(json, PolicyJson.class), null);
    }

    private static SandboxRequest request(@Nullable String egress) {
        return FakeHost.request(null).withEgress(egress == null ? null : egress(egress));
    }

    private static SandboxJson create(FakeHost host, @Nullable String egress) {
        return host.service.sandboxes().create(host.admin, request(egress)).sandbox();
    }

    private static SandboxDoc doc(FakeHost host, SandboxJson sandbox) {
        return host.service.parts().boxes().of(sandbox.id()).orElseThrow().doc();
    }

    private static List<EgressJson> now(FakeHost host, SandboxJson sandbox) {
        return host.service.parts().policies().egress(doc(host, sandbox));
    }

    private static CaissonException refused(ErrorCode code, FakeHost host, String egress) {
        return Fixture.refused(code, () -> create(host, egress));
    }

    @Test
    void staysClosedWhereNoPolicySaysOtherwise() {
        FakeHost host = host(true);
        SandboxJson made = create(host, null);
        assertThat(doc(host, made).wayOut).isFalse();
        assertThat(now(host, made)).containsExactly(EgressJson.closed());
        assertThat(create(host, "{}").egress()).isEqualTo(EgressJson.closed());
        CaissonException refusal =
                refused(ErrorCode.POLICY_DENIED, host, "{'allow':[{'host':'a.test'}]}");
        assertThat(refusal.details()).containsEntry("field", "egress");
        refused(ErrorCode.POLICY_DENIED, host, "{'mode':'observe'}");
    }

    @Test
    void refusesAnEngineThatCannotKeepTheRestClosed() {
        FakeHost host = host(false);
        policy(host, "default", OPEN);
        Fixture.refused(ErrorCode.UNSUPPORTED, () -> create(host, null));
        assertThat(refused(ErrorCode.UNSUPPORTED, host, "{'allow':[{'host':'a.test'}]}").remedy())
                .contains("empty egress");
        Fixture.refused(
                ErrorCode.UNSUPPORTED,
                () ->
                        host.service
                                .pools()
                                .create(
                                        host.admin,
                                        new PoolRequest("p", null, null, null, null, 1, null)));
        assertThat(doc(host, create(host, "{}")).wayOut).isFalse();
    }

    @Test
    void letsARequestNarrowAndNeverWiden() {
        FakeHost host = host(true);
        policy(host, "default", OPEN);
        host.service.secrets().create(host.admin, SecretStage.request("token", "some-value"));
        SandboxJson wide = create(host, null);
        assertThat(doc(host, wide).wayOut).isTrue();
        assertThat(now(host, wide)).containsExactly(egress(OPEN));
        String narrow = "{'allow':[{'host':'a.test'}],'secrets':['token'],'packages':{'npm':{}}}";
        SandboxJson made = create(host, narrow);
        assertThat(made.egress()).isEqualTo(egress(narrow));
        assertThat(now(host, made)).containsExactly(egress(OPEN), egress(narrow));
        assertThat(
                        refused(ErrorCode.POLICY_DENIED, host, "{'allow':[{'host':'a.example'}]}")
                                .details())
                .containsEntry("field", "egress.allow[0].host")
                .containsEntry("requested", "a.example");
        assertThat(
                        refused(
                                        ErrorCode.POLICY_DENIED,
                                        host,
                                        "{'allow':[{'host':'a.test'}],'secrets':['other']}")
                                .details())
                .containsEntry("allowed", "token");
        assertThat(refused(ErrorCode.POLICY_DENIED, host, "{'packages':{'pypi':{}}}").details())
                .containsEntry("field", "egress.packages");
        assertThat(refused(ErrorCode.INVALID, host, "{'allow':[{'host':'*'}]}").details())
                .containsEntry("field", "egress.allow[0].host");
    }

    @Test
    void hasALayerForEachPolicyAndFollowsTheirChanges() {
        FakeHost host = host(true);
        policy(host, "default", OPEN);
        policy(host, "narrow", "{'allow':[{'host':'a.test'}]}");
        SandboxRequest asked =
                read("{'policy':'narrow'}", SandboxRequest.class)
                        .withEgress(egress("{'allow':[{'host':'*.test'}]}"));
        SandboxJson made = host.service.sandboxes().create(host.admin, asked).sandbox();
        assertThat(now(host, made))
                .containsExactly(
                        egress(OPEN),
                        egress("{'allow':[{'host':'a.test'}]}"),
                        egress("{'allow':[{'host':'*.test'}]}"));
        policy(host, "narrow", null);
        assertThat(now(host, made)).hasSize(3).contains(EgressJson.closed());
        host.service.policies().delete(host.admin, "narrow");
        assertThat(now(host, made)).hasSize(3).contains(EgressJson.closed());
    }

    @Test
    void keepsWhatWasAskedThroughAForkAndAnEndOfTheServer() {
        FakeHost host = host(true);
        policy(host, "default", OPEN);
        SandboxJson made = create(host, "{'allow':[{'host':'a.test'}]}");
        SandboxJson copy =
                host.service
                        .sandboxes()
                        .fork(host.admin, made.id(), new ForkRequest(1, Map.of()))
                        .getFirst();
        assertThat(copy.egress()).isEqualTo(made.egress());
        FakeHost next = host.restart();
        opened = next;
        assertThat(next.service.sandboxes().find(next.admin, made.id()).egress())
                .isEqualTo(made.egress());
    }

    @Test
    void givesOutWarmSandboxesOnlyWithTheWayOutThatTheyWereMadeWith() {
        FakeHost host = host(true);
        policy(host, "default", OPEN);
        PoolService pools = host.service.pools();
        pools.create(
                host.admin,
                new PoolRequest("closed", null, null, null, null, 1, EgressJson.closed()));
        await().until(() -> pools.find(host.admin, "closed").ready() == 1);
        SandboxJson wide = create(host, null);
        assertThat(doc(host, wide).pool).isNull();
        assertThat(doc(host, wide).wayOut).isTrue();
        await().until(() -> pools.find(host.admin, "closed").ready() == 1);
        SandboxJson none = create(host, "{}");
        assertThat(doc(host, none).pool).isNotNull();
        assertThat(doc(host, none).wayOut).isFalse();
        assertThat(none.egress()).isEqualTo(EgressJson.closed());
    }

    @Test
    void saysWhatToMindOfAPolicyWithoutStoringIt() {
        FakeHost host = host(false);
        PolicyJson policy = read("{'egress':{'allow':[{'host':'*.github.io'}]}}", PolicyJson.class);
        assertThat(host.service.policies().check(host.admin, policy).findings())
                .extracting(FindingJson::field)
                .containsExactly("egress.allow[0].host");
        assertThat(host.service.policies().check(host.admin, PolicyJson.defaults()).findings())
                .isEmpty();
        Fixture.refused(
                ErrorCode.INVALID,
                () ->
                        host.service
                                .policies()
                                .check(
                                        host.admin,
                                        read("{'egress':{'mode':'x'}}", PolicyJson.class)));
        assertThat(host.service.policies().list(host.admin, Listing.FIRST).items()).hasSize(1);
    }
}
