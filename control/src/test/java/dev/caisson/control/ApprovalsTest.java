package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PolicyJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class ApprovalsTest {
    private static final DecisionRequest YES = new DecisionRequest(true, null);
    private static final DecisionRequest NO = new DecisionRequest(false, null);
    private static final ExecRequest REMOVE = ExecRequest.of(List.of("rm", "-rf", "/work/x"));

    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Caller a = fixture.tenant(admin, "a", null);
    private final Caller agent = fixture.caller(a, Role.AGENT);
    private final Approvals approvals = new Approvals(fixture.ledger, fixture.cursors);

    ApprovalsTest() {
        ask("rm");
    }

    private void ask(String... commands) {
        ApprovalRule exec = new ApprovalRule("exec", List.of(commands), List.of(), List.of());
        ApprovalRule port = new ApprovalRule("port", List.of(), List.of(), List.of());
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
                        List.of(exec, port),
                        60_000L,
                        null,
                        null);
        fixture.policies.put(a, "default", policy, null);
    }

    private List<Approvals.Pending> request(ExecRequest request, String session) {
        return request(approvals, request, session);
    }

    private List<Approvals.Pending> request(Approvals server, ExecRequest request, String session) {
        Ledger.Subject about = Ledger.Subject.sandbox(a.tenant(), "sb1", session).withExec("ex1");
        EffectivePolicy policy = fixture.policies.effective(agent, null);
        return server
                .exec(agent, policy, about, new Approvals.Command(request, "", null, request.env()))
                .stream()
                .toList();
    }

    private Approvals.Pending pending(ExecRequest request, String session) {
        List<Approvals.Pending> pending = request(request, session);
        assertThat(pending).hasSize(1);
        assertThat(pending.getFirst().decision()).isNotDone();
        return pending.getFirst();
    }

    @Test
    void waitsForAPersonAndTellsTheDecision() {
        assertThat(request(ExecRequest.of(List.of("ls")), "ss1")).isEmpty();
        Approvals.Pending yes = pending(REMOVE, "ss1");
        ApprovalJson shown = approvals.find(a, yes.id());
        assertThat(shown.state()).isEqualTo("waiting");
        assertThat(shown.subject()).isEqualTo("rm -rf /work/x");
        assertThat(shown.details()).containsEntry("argv", "[\"rm\",\"-rf\",\"/work/x\"]");
        assertThat(shown.requestedBy()).isEqualTo(agent.keyId());
        assertThat(approvals.decide(a, yes.id(), YES).state()).isEqualTo("approved");
        assertThat(yes.decision()).isCompletedWithValue(true);
        Approvals.Pending no = pending(REMOVE, "ss1");
        approvals.decide(a, no.id(), NO);
        assertThat(no.decision()).isCompletedWithValue(false);
        refused(ErrorCode.INVALID_STATE, () -> approvals.decide(a, no.id(), YES));
        assertThat(fixture.types(a.tenant())).contains("approval.requested", "approval.decided");
    }

    @Test
    void aRememberedYesIsNoneForAnotherEnvironmentOrInput() {
        Approvals.Pending first = pending(with(Map.of(), null), "ss1");
        approvals.decide(a, first.id(), new DecisionRequest(true, "session"));
        assertThat(request(with(Map.of(), null), "ss1")).isEmpty();
        Approvals.Pending env = pending(with(Map.of("LD_PRELOAD", "/work/x.so"), null), "ss1");
        assertThat(approvals.find(a, env.id()).details())
                .containsEntry("env", "LD_PRELOAD")
                .doesNotContainValue("/work/x.so");
        approvals.decide(a, env.id(), new DecisionRequest(true, "session"));
        assertThat(request(with(Map.of("LD_PRELOAD", "/work/x.so"), null), "ss1")).isEmpty();
        pending(with(Map.of("LD_PRELOAD", "/work/y.so"), null), "ss1");
        Approvals.Pending input = pending(with(Map.of(), "y\n"), "ss1");
        assertThat(approvals.find(a, input.id()).details()).containsEntry("input", "y\\u{a}");
    }

    @Test
    void aRememberedYesToCodeIsNoneForOtherCodeOrFiles() {
        Approvals.Pending first = code("print(1)", "a").orElseThrow();
        assertThat(approvals.find(a, first.id()).details()).containsEntry("code", "print(1)");
        approvals.decide(a, first.id(), new DecisionRequest(true, "policy"));
        assertThat(code("print(1)", "a")).isEmpty();
        assertThat(code("print(2)", "a").orElseThrow().decision()).isNotDone();
        assertThat(code("print(1)", "b").orElseThrow().decision()).isNotDone();
    }

    private Optional<Approvals.Pending> code(String code, String files) {
        Ledger.Subject about = Ledger.Subject.sandbox(a.tenant(), "sb1", "ss1").withExec("ex1");
        EffectivePolicy policy = fixture.policies.effective(agent, null);
        Execs.Origin origin = new Execs.Origin("rn1", "python", code, () -> files);
        return approvals.exec(
                agent, policy, about, new Approvals.Command(REMOVE, "", origin, REMOVE.env()));
    }

    private static ExecRequest with(Map<String, String> env, @Nullable String input) {
        return new ExecRequest(
                REMOVE.argv(),
                null,
                env,
                null,
                null,
                null,
                null,
                null,
                input,
                null,
                null,
                null,
                null,
                List.of());
    }

    @Test
    void theKeyThatAskedAndAgentsNeverDecide() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        refused(ErrorCode.POLICY_DENIED, () -> approvals.decide(agent, pending.id(), YES));
        Caller otherAgent = fixture.caller(a, Role.AGENT);
        refused(ErrorCode.POLICY_DENIED, () -> approvals.decide(otherAgent, pending.id(), YES));
        Caller auditor = fixture.caller(a, Role.AUDITOR);
        refused(ErrorCode.POLICY_DENIED, () -> approvals.decide(auditor, pending.id(), YES));
        Ledger.Subject about = Ledger.Subject.sandbox(a.tenant(), "sb1", "ss1");
        Approvals.Pending own =
                approvals
                        .exec(
                                a,
                                fixture.policies.effective(a, null),
                                about,
                                new Approvals.Command(REMOVE, "", null, REMOVE.env()))
                        .orElseThrow();
        refused(ErrorCode.POLICY_DENIED, () -> approvals.decide(a, own.id(), YES));
        approvals.decide(fixture.acting.actFor(admin, "a"), own.id(), YES);
        assertThat(own.decision()).isCompletedWithValue(true);
        assertThat(pending.decision()).isNotDone();
    }

    @Test
    void anotherTenantsApprovalsDoNotExist() {
        Caller b = fixture.tenant(admin, "b", null);
        Approvals.Pending pending = pending(REMOVE, "ss1");
        refused(ErrorCode.NOT_FOUND, () -> approvals.find(b, pending.id()));
        refused(ErrorCode.NOT_FOUND, () -> approvals.decide(b, pending.id(), YES));
        assertThat(approvals.list(b, Listing.FIRST).items()).isEmpty();
        assertThat(approvals.list(a, Listing.FIRST).items()).hasSize(1);
    }

    @Test
    void nobodyAnsweredMeansNo() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        fixture.clock.advance(Duration.ofSeconds(59));
        approvals.expire(fixture.ledger.now());
        assertThat(pending.decision()).isNotDone();
        fixture.clock.advance(Duration.ofSeconds(1));
        refused(ErrorCode.INVALID_STATE, () -> approvals.decide(a, pending.id(), YES));
        approvals.expire(fixture.ledger.now());
        assertThat(pending.decision()).isCompletedWithValue(false);
        assertThat(approvals.find(a, pending.id()).state()).isEqualTo("expired");
        assertThat(fixture.types(a.tenant())).contains("approval.expired");
    }

    @Test
    void withdrawnIsNo() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        approvals.withdraw(pending.id());
        approvals.withdraw(pending.id());
        assertThat(pending.decision()).isCompletedWithValue(false);
        assertThat(approvals.find(a, pending.id()).state()).isEqualTo("withdrawn");
    }

    @Test
    void sessionIsRememberedForTheSameCommandInTheSameSession() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        approvals.decide(a, pending.id(), new DecisionRequest(true, "session"));
        assertThat(request(REMOVE, "ss1")).isEmpty();
        pending(REMOVE, "ss2");
        pending(ExecRequest.of(List.of("rm", "-rf", "/")), "ss1");
    }

    @Test
    void rememberedNoIsNoWithoutAPerson() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        approvals.decide(a, pending.id(), new DecisionRequest(false, "session"));
        assertThat(request(REMOVE, "ss1").getFirst().decision()).isCompletedWithValue(false);
    }

    @Test
    void policyIsRememberedUntilThePolicyChanges() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        approvals.decide(a, pending.id(), new DecisionRequest(true, "policy"));
        assertThat(request(REMOVE, "ss2")).isEmpty();
        fixture.clock.advance(Duration.ofDays(30));
        approvals.purge(fixture.ledger.now());
        assertThat(request(REMOVE, "ss3")).isEmpty();
        ask("rm", "mv");
        pending(REMOVE, "ss2");
    }

    @Test
    void otherKindsAskByTheirOwnRules() {
        EffectivePolicy policy = fixture.policies.effective(agent, null);
        Ledger.Subject about = Ledger.Subject.sandbox(a.tenant(), "sb1", "ss1");
        assertThat(approvals.other(agent, policy, about, "port", "8080", Map.of())).isPresent();
        assertThat(approvals.other(agent, policy, about, "destination", "x", Map.of())).isEmpty();
    }

    @Test
    void whatWaitedBeforeARestartHasExpired() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        Fixture again = fixture.server("one");
        Approvals restarted = new Approvals(again.ledger, again.cursors);
        restarted.start();
        ApprovalJson found = restarted.find(a, pending.id());
        assertThat(found.state()).isEqualTo("expired");
        assertThat(again.events(a.tenant()).getLast().reason()).isEqualTo("server_restarted");
    }

    @Test
    void decisionOnAnotherServerIsHeard() {
        Approvals.Pending pending = pending(REMOVE, "ss1");
        Fixture two = fixture.server("two");
        Approvals there = new Approvals(two.ledger, two.cursors);
        there.start();
        there.decide(a, pending.id(), YES);
        assertThat(pending.decision()).isNotDone();
        approvals.expire(fixture.ledger.now());
        assertThat(pending.decision()).isCompletedWithValue(true);
    }

    @Test
    void isDecidedOnceUnderRaces() throws Exception {
        Fixture two = fixture.server("two");
        Approvals there = new Approvals(two.ledger, two.cursors);
        for (int round = 0; round < 50; round++) {
            Approvals.Pending pending = pending(REMOVE, "ss1");
            List<Callable<Boolean>> tries = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Approvals server = i % 2 == 0 ? approvals : there;
                DecisionRequest decision = i % 3 == 0 ? YES : NO;
                tries.add(() -> decides(server, pending.id(), decision));
            }
            tries.add(() -> {
                approvals.withdraw(pending.id());
                return false;
            });
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                int decided = 0;
                for (Future<Boolean> one : threads.invokeAll(tries)) {
                    decided += one.get() ? 1 : 0;
                }
                approvals.expire(fixture.ledger.now());
                String state = approvals.find(a, pending.id()).state();
                assertThat(decided).isEqualTo(state.equals("withdrawn") ? 0 : 1);
                if (decided == 0) {
                    assertThat(pending.decision()).isCompletedWithValue(false);
                }
            }
        }
        List<String> types = fixture.types(a.tenant());
        assertThat(
                        Collections.frequency(types, "approval.decided")
                                + Collections.frequency(types, "approval.expired"))
                .isEqualTo(50);
    }

    private boolean decides(Approvals server, String id, DecisionRequest decision) {
        try {
            server.decide(a, id, decision);
            return true;
        } catch (CaissonException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.INVALID_STATE);
            return false;
        }
    }
}
