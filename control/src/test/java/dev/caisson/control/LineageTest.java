package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.Fixture.request;
import static dev.caisson.control.Fixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.RotateRequest;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Four eyes: who asks never decides with another key whose secret they may know. */
final class LineageTest {
    private static final DecisionRequest YES = new DecisionRequest(true, null);
    private static final RotateRequest AT_ONCE = new RotateRequest(null);

    private final Fixture fixture = new Fixture();
    private final Keys keys = fixture.keys;
    private final Caller admin = fixture.admin();
    private final Caller boss = fixture.tenant(admin, "a", null);
    private final Approvals approvals = new Approvals(fixture.ledger, fixture.cursors);

    LineageTest() {
        PolicyJson policy =
                new PolicyJson(
                        null,
                        null,
                        null,
                        List.of(),
                        null,
                        null,
                        null,
                        List.of(),
                        null,
                        null,
                        null,
                        null,
                        null,
                        List.of(new ApprovalRule("exec", List.of(), List.of(), List.of())),
                        60_000L,
                        null,
                        null);
        fixture.policies.put(boss, "default", policy, null);
    }

    private String asks(Caller caller) {
        return approvals
                .exec(
                        caller,
                        fixture.policies.effective(caller, null),
                        Ledger.Subject.sandbox(boss.tenant(), "sb1", "ss1").withExec("ex1"),
                        new Approvals.Command(ExecRequest.of(List.of("rm")), "", null, Map.of()))
                .orElseThrow()
                .id();
    }

    private void decides(Caller caller, String approval) {
        assertThat(approvals.decide(caller, approval, YES).state()).isEqualTo("approved");
    }

    private void mayNotDecide(Caller caller, String approval) {
        CaissonException refusal =
                refused(ErrorCode.POLICY_DENIED, () -> approvals.decide(caller, approval, YES));
        assertThat(refusal.remedy()).contains("Decide with");
        assertThat(approvals.find(caller, approval).state()).isEqualTo("waiting");
    }

    private Caller operator() {
        return fixture.caller(boss, Role.OPERATOR);
    }

    private Caller rotated(Caller by, String id) {
        return keys.authenticate(text(keys.rotate(by, id, AT_ONCE)));
    }

    @Test
    void aKeyDoesNotDecideWhatItsMakerAsked() {
        Caller asker = operator();
        Caller second = fixture.caller(asker, Role.OPERATOR);
        Caller third = fixture.caller(second, Role.OPERATOR);
        String approval = asks(asker);
        mayNotDecide(second, approval);
        mayNotDecide(third, approval);
        decides(operator(), approval); // control: of a colleague
    }

    @Test
    void aColleaguesKeyThatTheAskerHasRotatedDoesNotDecide() {
        Caller asker = operator();
        Caller colleague = operator();
        decides(colleague, asks(asker)); // control: before
        mayNotDecide(rotated(asker, colleague.keyId()), asks(asker));
        // Nothing takes it back, nor does a way around by a second key.
        Caller second = fixture.caller(asker, Role.OPERATOR);
        Caller third = operator();
        mayNotDecide(rotated(second, third.keyId()), asks(asker));
        mayNotDecide(rotated(boss, colleague.keyId()), asks(asker));
        Caller again = keys.authenticate(text(keys.rotate(boss, colleague.keyId(), AT_ONCE)));
        mayNotDecide(rotated(again, again.keyId()), asks(asker));
    }

    @Test
    void aMakerDecidesForTheKeysThatItMade() {
        Caller operator = operator();
        decides(operator, asks(fixture.caller(operator, Role.AGENT)));
        decides(fixture.acting.actFor(admin, "a"), asks(boss));
        mayNotDecide(boss, asks(fixture.acting.actFor(admin, "a")));
    }

    @Test
    void aKeyMadeByAPersonWithATokenDoesNotDecideForThem() {
        Caller person = person("oidc-aaaa");
        Caller made = fixture.caller(person, Role.OPERATOR);
        mayNotDecide(made, asks(person));
        decides(person("oidc-bbbb"), asks(person)); // control: another person
        decides(made, asks(person("oidc-bbbb")));
        mayNotDecide(person, asks(person));
        decides(operator(), asks(person));
    }

    private Caller person(String id) {
        return new Caller(
                boss.tenant(),
                id,
                "person",
                Role.ADMIN,
                Set.of(),
                null,
                false,
                Map.of(),
                null,
                Proof.NONE);
    }

    @Test
    void aRowOfBeforeHasNone() {
        Caller asker = operator();
        Caller made = fixture.caller(asker, Role.OPERATOR);
        Row row = row(made.keyId());
        String old = row.body().replaceFirst(",?\"lineage\":\\[[^]]*]", "");
        assertThat(old).isNotEqualTo(row.body()).doesNotContain("lineage");
        fixture.ledger.write(tx ->
                tx.update(
                        Kind.KEY,
                        new Row(
                                row.id(),
                                row.tenant(),
                                row.parent(),
                                row.name(),
                                row.state(),
                                row.node(),
                                row.created(),
                                row.due(),
                                row.labels(),
                                row.version(),
                                old)));
        assertThat(lineage(made.keyId())).isEmpty();
        decides(made, asks(asker));
    }

    private Row row(String id) {
        return fixture.store.read(tx -> tx.find(Kind.KEY, id).orElseThrow());
    }

    private List<String> lineage(String id) {
        return Json.read(row(id).body(), KeyDoc.class).lineage();
    }

    @Test
    void isBoundedAndForgetsOnlyWhatIsOver() {
        Caller last = operator();
        List<KeyJson> all = new java.util.ArrayList<>();
        for (int i = lineage(last.keyId()).size() + 1; i < Lineage.MAX; i++) {
            KeyJson made = keys.create(last, request(Role.OPERATOR));
            all.add(made);
            last = keys.authenticate(text(made));
        }
        Caller end = fixture.caller(last, Role.OPERATOR);
        assertThat(lineage(end.keyId())).hasSize(Lineage.MAX).contains(boss.keyId());
        CaissonException refusal =
                refused(ErrorCode.POLICY_DENIED, () -> keys.create(end, request(Role.OPERATOR)));
        assertThat(refusal.details()).containsEntry("limit", "lineage");
        keys.revoke(boss, all.getFirst().id());
        assertThat(lineage(fixture.caller(end, Role.OPERATOR).keyId()))
                .hasSize(Lineage.MAX)
                .contains(end.keyId(), boss.keyId(), admin.keyId())
                .doesNotContain(all.getFirst().id());
    }
}
