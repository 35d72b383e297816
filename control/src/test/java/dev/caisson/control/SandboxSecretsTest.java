package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.SecretStage.HOST;
import static dev.caisson.control.SecretStage.VALUE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.SecretUse;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import dev.caisson.v1.SecretJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Secrets of sandboxes and execs in a whole service. */
final class SandboxSecretsTest {
    @TempDir Path folder;
    private FakeHost host;
    private final FakeSink sink = new FakeSink();

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        host.launcher.onAgent(agent -> {
            FakeHost.programs(agent);
            agent.program(
                    "variable",
                    exec -> {
                        exec.print(
                                exec.start().getEnvList().stream()
                                        .map(ByteString::toStringUtf8)
                                        .filter(variable -> variable.startsWith("TOKEN="))
                                        .findFirst()
                                        .orElse("none"));
                        return 0;
                    });
        });
        host.service.secretSink(sink);
        allow(host, "key", "other");
    }

    @AfterEach
    void close() {
        host.close();
    }

    private static void allow(FakeHost on, String... names) {
        PolicyJson policy =
                Json.request(
                        ("{\"egress\":{\"secrets\":"
                                        + Json.write(List.of(names))
                                        + "},\"maxLifeMillis\":86400000}")
                                .getBytes(StandardCharsets.UTF_8),
                        PolicyJson.class);
        on.service.policies().put(on.admin, "default", policy, null);
    }

    private SecretJson secret(String name) {
        return host.service.secrets().create(host.admin, SecretStage.request(name, VALUE + name));
    }

    private static SandboxRequest request(Map<String, String> env, String... secrets) {
        SandboxRequest plain = FakeHost.request(null, null, env, null);
        return new SandboxRequest(
                plain.name(),
                plain.ifExists(),
                plain.labels(),
                plain.tier(),
                plain.template(),
                plain.snapshot(),
                plain.policy(),
                plain.limits(),
                plain.env(),
                plain.timeoutMillis(),
                plain.idleTimeoutMillis(),
                plain.maxLifeMillis(),
                plain.onTimeout(),
                plain.autoResume(),
                plain.root(),
                plain.volumes(),
                plain.owned(),
                plain.allowDegraded(),
                plain.pool(),
                null,
                List.of(secrets));
    }

    private SandboxJson make(String... secrets) {
        return host.service.sandboxes().create(host.admin, request(Map.of(), secrets)).sandbox();
    }

    private static ExecRequest exec(String program, String... secrets) {
        return new ExecRequest(
                List.of(program),
                null,
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                List.of(secrets));
    }

    private String printed(String sandbox, ExecRequest request) throws IOException {
        String id = host.service.execs().start(host.admin, sandbox, request).id();
        return FakeHost.text(host.follow(id, null));
    }

    private String placeholder(String sandbox) {
        return Objects.requireNonNull(sink.uses.get(sandbox)).getFirst().placeholder();
    }

    @Test
    void theGatewayHasTheSecretAndTheProgramThePlaceholder() throws IOException {
        SecretJson key = secret("key");
        SandboxJson sandbox = make("key");

        assertThat(sink.secrets).containsOnlyKeys(key.id());
        assertThat(sink.uses.get(sandbox.id())).hasSize(1);
        assertThat(printed(sandbox.id(), exec("variable")))
                .isEqualTo("TOKEN=" + placeholder(sandbox.id()));
        assertThat(Json.write(host.events())).doesNotContain(VALUE);

        host.service.sandboxes().delete(host.admin, sandbox.id());
        assertThat(sink.secrets).isEmpty();
    }

    @Test
    void theGatewayIsToldBeforeTheSandboxIsMade() {
        SecretJson key = secret("key");
        sink.away = true;

        refused(ErrorCode.LAUNCHER_UNAVAILABLE, () -> make("key"));

        assertThat(host.launcher.sandboxes()).isEmpty();
        sink.away = false;
        SandboxJson sandbox = make("key");
        assertThat(sink.told).endsWith("put " + key.id(), "use " + sandbox.id());
    }

    @Test
    void withoutSecretsNothingIsTold() throws IOException {
        secret("key");
        SandboxJson sandbox = make();

        assertThat(sink.told).isEmpty();
        assertThat(printed(sandbox.id(), exec("variable"))).isEqualTo("none");
    }

    @Test
    void secretsOfASandboxHaveALimitInAll() {
        allow(host, "one", "two");
        for (String name : List.of("one", "two")) {
            host.service
                    .secrets()
                    .create(host.admin, SecretStage.request(name, name.repeat(12 << 10)));
        }
        make("one");
        assertThatThrownBy(() -> make("one", "two"))
                .isInstanceOf(CaissonException.class)
                .hasMessageContaining("in all");
    }

    @Test
    void namesThatAreUnknownOrNotListedMakeNoSandbox() {
        secret("key");
        secret("hidden");

        refused(ErrorCode.POLICY_DENIED, () -> make("hidden"));
        refused(ErrorCode.NOT_FOUND, () -> make("other"));
        refused(
                ErrorCode.INVALID,
                () ->
                        host.service
                                .sandboxes()
                                .create(host.admin, request(Map.of("TOKEN", "x"), "key")));
        assertThat(host.launcher.sandboxes()).isEmpty();
    }

    @Test
    void anExecsSecretEndsWithIt() {
        SecretJson key = secret("key");
        SandboxJson sandbox = make();
        String id = host.service.execs().start(host.admin, sandbox.id(), exec("sleep", "key")).id();

        assertThat(sink.secrets).containsOnlyKeys(key.id());
        assertThat(sink.uses.get(sandbox.id()))
                .extracting(SecretUse::secret)
                .containsExactly(key.id());
        host.service.execs().kill(host.admin, id);

        await().untilAsserted(() -> {
            assertThat(sink.secrets).isEmpty();
            assertThat(sink.uses.get(sandbox.id())).isEmpty();
        });
        refused(
                ErrorCode.POLICY_DENIED,
                () ->
                        host.service
                                .execs()
                                .start(host.admin, sandbox.id(), exec("sleep", "hidden")));
    }

    @Test
    void aServerThatFollowsTellsTheGatewayTheSame() {
        SecretJson key = secret("key");
        SecretJson other =
                host.service
                        .secrets()
                        .create(
                                host.admin,
                                SecretStage.request(
                                        "other",
                                        dev.caisson.v1.SecretSource.ofValue(VALUE),
                                        SecretStage.bearer("other." + HOST)));
        SandboxJson sandbox = make("key");
        String before = placeholder(sandbox.id());
        String exec =
                host.service.execs().start(host.admin, sandbox.id(), exec("sleep", "other")).id();
        host.service.execs().settle(host.admin, exec);

        host = host.restart();
        FakeSink next = new FakeSink();
        host.service.secretSink(next);

        assertThat(next.secrets).containsOnlyKeys(key.id(), other.id());
        assertThat(next.uses.get(sandbox.id()))
                .extracting(SecretUse::placeholder)
                .hasSize(2)
                .contains(before);
    }

    @Test
    void whatWasDeletedWhileNoServerWasThereIsDropped() {
        SecretJson key = secret("key");
        make("key");
        host.memory.write(tx -> tx.delete(Kind.SECRET, key.id()));

        host = host.restart();
        FakeSink next = new FakeSink();
        host.service.secretSink(next);

        assertThat(next.told).contains("drop " + key.id()).doesNotContain("put " + key.id());
    }

    @Test
    void otherServersSeeARevocationWithinASecond() {
        secret("key");
        make("key");
        assertThat(sink.secrets).hasSize(1);
        FakeHost second = host.server("second");
        host = second;
        second.service.secrets().delete(second.admin, "key");

        await().atMost(java.time.Duration.ofSeconds(2))
                .untilAsserted(() -> assertThat(sink.secrets).isEmpty());
    }

    @Test
    void whatTheRequestsOwnWayOutListsIsWanted() {
        SecretJson key = secret("key");
        SandboxJson sandbox =
                host.service
                        .sandboxes()
                        .create(
                                host.admin,
                                request(Map.of()).withEgress(SecretStage.allowing("key")))
                        .sandbox();

        assertThat(sink.uses.get(sandbox.id()))
                .extracting(SecretUse::secret)
                .containsExactly(key.id());
    }

    @Test
    void aPolicyThatListsItNoMoreTakesItWithinASecond() {
        secret("key");
        SandboxJson sandbox = make("key");

        allow(host, "other");
        await().untilAsserted(() -> assertThat(sink.uses.get(sandbox.id())).isEmpty());

        allow(host, "key");
        await().untilAsserted(() -> assertThat(sink.uses.get(sandbox.id())).hasSize(1));
    }

    @Test
    void aPersonIsAskedOnceForTheSameCommandInAnySandbox() {
        PolicyJson policy =
                Json.request(
                        ("{\"egress\":{\"secrets\":[\"key\"]},\"maxLifeMillis\":86400000,"
                                        + "\"ask\":[{\"kind\":\"exec\",\"commands\":[\"sleep\"]}]}")
                                .getBytes(StandardCharsets.UTF_8),
                        PolicyJson.class);
        host.service.policies().put(host.admin, "default", policy, null);
        SecretJson key = secret("key");
        String one = make("key").id();
        String id = host.service.execs().start(host.admin, one, exec("sleep", "key")).id();

        var approval =
                host.service
                        .approvals()
                        .find(
                                host.admin,
                                String.valueOf(
                                        host.service.execs().find(host.admin, id).approval()));

        assertThat(approval.details())
                .containsEntry("secrets", "key")
                .containsEntry("env", "TOKEN");
        assertThat(Json.write(approval)).doesNotContain("csp_", VALUE);
        // The sandbox has it already; what only this exec has would wait for the answer.
        assertThat(sink.secrets).containsOnlyKeys(key.id());
    }

    @Test
    void aForkHasPlaceholdersOfItsOwn() {
        secret("key");
        SandboxJson sandbox = make("key");

        SandboxJson fork =
                host.service
                        .sandboxes()
                        .fork(host.admin, sandbox.id(), new ForkRequest(1, Map.of()))
                        .getFirst();

        assertThat(placeholder(fork.id()))
                .matches("csp_[0-9a-f]{32}")
                .isNotEqualTo(placeholder(sandbox.id()));
    }
}
