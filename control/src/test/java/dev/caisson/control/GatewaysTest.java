package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.caisson.core.EgressListener;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.wire.egress.GatewayEvent;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.Question;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a service tells an egress gateway, and what it makes of what that tells. */
final class GatewaysTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.openWithEgress(folder);
        policy("{'allow':[{'host':'a.test'}]}");
    }

    @AfterEach
    void close() {
        host.close();
    }

    private void policy(String egress) {
        byte[] json =
                ("{'egress':" + egress + "}").replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        host.service
                .policies()
                .put(host.admin, "default", Json.request(json, PolicyJson.class), null);
    }

    private SandboxJson create() {
        return host.service.sandboxes().create(host.admin, FakeHost.request(null)).sandbox();
    }

    private List<String> layers(String sandbox) {
        PutSandbox put = host.gateway().sandbox(sandbox);
        return put == null
                ? List.of()
                : put.getLayersList().stream().map(ByteString::toStringUtf8).toList();
    }

    private List<EventJson> events(String type) {
        return host.service
                .parts()
                .ledger()
                .read(tx -> tx.events(host.admin.tenant(), 0, 1000, null, type));
    }

    private GatewayEvent event(long number, String sandbox, String type, String data) {
        return GatewayEvent.newBuilder()
                .setNumber(number)
                .setTimeMicros(TimeUnit.MILLISECONDS.toMicros(host.clock.millis()))
                .setSandbox(sandbox)
                .setType(type)
                .setData(ByteString.copyFromUtf8(data.replace('\'', '"')))
                .build();
    }

    @Test
    void theGatewayHasThePolicyBeforeTheSandboxIsMadeAndNothingAfterItsEnd() {
        SandboxJson made = create();
        assertThat(layers(made.id())).hasSize(1).first().asString().contains("a.test");
        assertThat(host.launcher.requests()).anyMatch(request -> request.getCreate().getEgress());
        host.service.sandboxes().delete(host.admin, made.id());
        await().atMost(PATIENCE).until(() -> host.gateway().sandbox(made.id()) == null);
    }

    @Test
    void aClosedPolicyStartsNoGateway() {
        policy("{}");
        SandboxJson made = create();
        assertThat(host.gateway().requests()).isEmpty();
        assertThat(host.launcher.requests())
                .noneMatch(request -> request.getCreate().getEgress())
                .anyMatch(request -> request.getCreate().getSandbox().equals(made.id()));
    }

    @Test
    void aChangedPolicyIsToldWithinASecond() {
        SandboxJson made = create();
        policy("{'allow':[{'host':'b.test'}]}");
        await().atMost(PATIENCE).until(() -> layers(made.id()).toString().contains("b.test"));
        policy("{}");
        await().atMost(PATIENCE).until(() -> !layers(made.id()).toString().contains("test"));
    }

    @Test
    void aServerThatTakesOverTellsTheGatewayAgain() {
        SandboxJson made = create();
        int before = host.gateway().requests().size();
        FakeHost next = host.restart();
        try {
            await().atMost(PATIENCE)
                    .until(() ->
                            host.gateway().requests().stream()
                                    .skip(before)
                                    .anyMatch(
                                            told -> told.getPut().getSandbox().equals(made.id())));
        } finally {
            next.close();
        }
    }

    @Test
    void whatItTellsIsAnEventOnceAndUsage() {
        SandboxJson made = create();
        String data = "{'host':'a.test','port':443,'bytesIn':700,'bytesOut':300}";
        host.gateway().tell(event(1, made.id(), "egress.allowed", data));
        host.gateway().tell(event(1, made.id(), "egress.allowed", data));
        host.gateway().tell(event(2, made.id(), "egress.denied", "{'target':'c.test'}"));
        host.gateway().tell(event(3, made.id(), "no.such", "{}"));
        host.gateway().tell(event(4, "sb00000000000000000000", "egress.denied", "{}"));
        await().atMost(PATIENCE)
                .until(() ->
                        host.gateway().requests().stream()
                                .anyMatch(told -> told.getTaken().getUpTo() == 4));
        EventJson allowed = only(events("egress.allowed"));
        assertThat(allowed.sandbox()).isEqualTo(made.id());
        assertThat(allowed.data()).containsEntry("host", "a.test");
        assertThat(events("egress.denied")).hasSize(1);
        long bytes =
                host
                        .service
                        .parts()
                        .ledger()
                        .read(tx ->
                                tx.usage(
                                        host.admin.tenant(),
                                        made.id(),
                                        Instant.EPOCH,
                                        host.clock.instant().plus(Duration.ofDays(1)),
                                        "session",
                                        100))
                        .stream()
                        .mapToLong(row -> row.egressBytes())
                        .sum();
        assertThat(bytes).isEqualTo(1000);
    }

    @Test
    void whatAGatewayTellsThatCountsAnewIsWrittenDown() {
        SandboxJson made = create();
        host.gateway().tell(event(70, made.id(), "egress.denied", "{'target':'old.test'}"));
        await().atMost(PATIENCE).until(() -> events("egress.denied").size() == 1);
        host.gateway().cut();
        await().atMost(PATIENCE)
                .until(() ->
                        host.gateway().requests().stream()
                                .anyMatch(told -> told.getHello().getEventsAfter() == 70));
        await().atMost(PATIENCE)
                .until(() -> {
                    // Maybe before the connection is there, so again; it counts once.
                    host.gateway().tell(event(1, made.id(), "egress.denied", "{'target':'a'}"));
                    return events("egress.denied").size() == 2;
                });
        host.gateway().tell(event(2, made.id(), "egress.denied", "{'target':'b'}"));
        await().atMost(PATIENCE).until(() -> events("egress.denied").size() == 3);
        await().atMost(PATIENCE)
                .until(() ->
                        host.gateway().requests().stream()
                                .anyMatch(told -> told.getTaken().getUpTo() == 2));
    }

    @Test
    void anEventThatCannotBeWrittenHoldsUpNoOther() {
        SandboxJson made = create();
        GatewayEvents told =
                new GatewayEvents(host.service.parts().ledger(), host.service.parts().boxes());
        List<Long> taken = new CopyOnWriteArrayList<>();
        told.take(of(1, made, "egress.denied", "{}"), () -> taken.add(1L));
        told.take(of(2, made, "egress.allowed", "null"), () -> taken.add(2L)); // no object
        told.take(of(3, made, "egress.denied", "{}"), () -> taken.add(3L));
        await().atMost(PATIENCE).until(() -> taken.contains(3L));
        assertThat(events("egress.denied")).hasSize(2);
    }

    private EgressListener.Event of(long number, SandboxJson about, String type, String data) {
        return new EgressListener.Event(
                number, host.clock.instant(), about.id(), type, "", data, "1");
    }

    @Test
    void theGatewayForgetsASandboxThatAnEarlierServerPutThere() {
        SandboxJson made = create();
        FakeHost next = host.restart();
        try {
            // One that has only heard of it, as after the engine was opened anew.
            next.service.parts().gateways().reopened();
            next.service.sandboxes().delete(next.admin, made.id());
            await().atMost(PATIENCE).until(() -> next.gateway().sandbox(made.id()) == null);
        } finally {
            next.close();
        }
    }

    @Test
    void aQuestionIsAnApprovalAndItsAnswerIsTold() {
        SandboxJson made =
                host.service.sandboxes().create(key(Role.AGENT), FakeHost.request(null)).sandbox();
        host.gateway()
                .ask(
                        Question.newBuilder()
                                .setNumber(7)
                                .setSandbox(made.id())
                                .setTarget("c.test:443")
                                .setRule("default")
                                .build());
        await().atMost(PATIENCE).until(() -> !waiting().isEmpty());
        ApprovalJson asked = only(waiting());
        assertThat(asked.kind()).isEqualTo("destination");
        assertThat(asked.subject()).isEqualTo("c.test:443");
        host.service
                .approvals()
                .decide(key(Role.OPERATOR), asked.id(), new DecisionRequest(true, "session"));
        await().atMost(PATIENCE)
                .until(() ->
                        host.gateway().requests().stream()
                                .anyMatch(told ->
                                        told.getDecision().getQuestion() == 7
                                                && told.getDecision().getAllow()));
    }

    private Caller key(Role role) {
        return host.service.authenticate(
                Fixture.text(host.service.keys().create(host.admin, Fixture.request(role))));
    }

    private List<ApprovalJson> waiting() {
        return host.service.approvals().list(host.admin, Listing.FIRST).items().stream()
                .filter(approval -> approval.state().equals("waiting"))
                .toList();
    }

    private static <T> T only(List<T> all) {
        assertThat(all).hasSize(1);
        return Objects.requireNonNull(all.getFirst());
    }
}
