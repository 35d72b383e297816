package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.caisson.policy.IpAddress;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSpec;
import dev.caisson.wire.egress.ControlRequest;
import dev.caisson.wire.egress.DropSecret;
import dev.caisson.wire.egress.PutSandbox;
import dev.caisson.wire.egress.PutSecret;
import dev.caisson.wire.egress.ResetReason;
import dev.caisson.wire.egress.SecretUse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a gateway keeps, and what it must not. */
class RestartTest {
    @Test
    void namesKeepTheirAddressesAndPoliciesHold() throws Exception {
        try (Rig rig = Rig.started();
                EchoServer server = new EchoServer("")) {
            rig.client().put("sb1", rig.local("a.test", server.port(), "tcp"));
            FakeAgent before = rig.agent("sb1");
            IpAddress address = before.lookUp("a.test");
            rig.stop();
            assertThat(before.ends()).isTrue();
            rig.start();
            FakeAgent after = rig.agent("sb1"); // no client has said anything
            FakeStream stream = after.open(address, server.port());
            stream.send("x");
            stream.readUntil("x");
            assertThat(after.lookUp("a.test")).isEqualTo(address);
            assertThat(after.open(address, 1).resetReason()).isEqualTo(ResetReason.RESET_DENIED);
        }
    }

    @Test
    void theSameNameHasOtherAddressesInOtherSandboxes() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            client.put("sb1", Rig.policy(Rig.host("a.test", 443)));
            client.put("sb2", Rig.policy(Rig.host("a.test", 443)));
            IpAddress first = rig.agent("sb1").lookUp("a.test");
            assertThat(rig.agent("sb2").lookUp("a.test")).isNotEqualTo(first);
            client.drop("sb1");
            client.put("sb1", Rig.policy(Rig.host("a.test", 443)));
            assertThat(rig.agent("sb1").lookUp("a.test")).isEqualTo(first);
        }
    }

    @Test
    void noSecretIsKeptAndItsHostsAreRefusedUntilItIsThereAgain() throws Exception {
        try (Rig rig = new Rig();
                EchoServer server = new EchoServer("")) {
            FakeIntercept intercept = new FakeIntercept();
            rig.parts = intercept.parts();
            rig.start();
            FakeClient client = rig.client();
            secret(client, "topsecretvalue");
            client.ask(ControlRequest.newBuilder().setPut(put(rig, server.port())));
            FakeAgent agent = rig.agent("sb1");
            assertThat(agent.trusts).as("programs trust the authority").hasSize(1);
            assertThat(value(intercept)).isEqualTo("topsecretvalue");
            rig.stop();
            assertThat(everything(rig.folder)).doesNotContain("topsecretvalue").contains("a.test");

            rig.start();
            FakeAgent after = rig.agent("sb1");
            FakeStream refused = after.open(after.lookUp("a.test"), server.port());
            assertThat(refused.resetReason()).isEqualTo(ResetReason.RESET_DENIED);
            FakeClient again = rig.client();
            assertThat(again.denials("sb1", 0).getDenials(0).getRule()).isEqualTo("secret missing");
            secret(again, "topsecretvalue2");
            assertThat(value(intercept)).isEqualTo("topsecretvalue2");
            FakeStream served = after.open(after.lookUp("a.test"), server.port());
            served.send("x");
            served.readUntil("x");
            again.ask(
                    ControlRequest.newBuilder()
                            .setDropSecret(DropSecret.newBuilder().setSecret("se1")));
            assertThat(Objects.requireNonNull(intercept.secrets).get()).isEmpty();
        }
    }

    @Test
    void aSecretOfAnotherTenantIsNotHanded() throws Exception {
        try (Rig rig = new Rig();
                EchoServer server = new EchoServer("")) {
            FakeIntercept intercept = new FakeIntercept();
            rig.parts = intercept.parts();
            rig.start();
            FakeClient client = rig.client();
            secret(client, "topsecretvalue");
            client.ask(
                    ControlRequest.newBuilder()
                            .setPut(put(rig, server.port()).toBuilder().setTenant("other")));
            assertThat(Objects.requireNonNull(intercept.secrets).get()).isEmpty();
        }
    }

    @Test
    void staleFilesGoAndThoseOfLiveSandboxesStay() throws Exception {
        try (Rig rig = Rig.started()) {
            FakeClient client = rig.client();
            client.put("stale", Rig.policy(Rig.host("a.test", 443)));
            client.put("fresh", Rig.policy(Rig.host("a.test", 443)));
            rig.stop();
            Path stale = rig.folder.resolve("state").resolve("1000-stale.put");
            Files.setLastModifiedTime(
                    stale, FileTime.from(Instant.now().minus(Duration.ofDays(31))));
            rig.start();
            assertThat(stale).doesNotExist();
            assertThat(rig.agent("fresh").ready().getConnections()).isPositive();
        }
    }

    @Test
    void aFileThatIsNoneStopsNothing() throws Exception {
        try (Rig rig = Rig.started()) {
            rig.client().put("sb1", Rig.policy(Rig.host("a.test", 443)));
            IpAddress address = rig.agent("sb1").lookUp("a.test");
            rig.stop();
            Path state = rig.folder.resolve("state");
            Files.write(state.resolve("1000-bad.put"), new byte[] {-1, -1});
            Files.write(state.resolve("nonsense.put"), new byte[0]);
            Files.writeString(
                    state.resolve("1000-sb1.names"),
                    Files.readString(state.resolve("1000-sb1.names"))
                            + "999999999 b.test\n12 c.te");
            rig.start();
            assertThat(rig.agent("sb1").lookUp("a.test")).isEqualTo(address);
        }
    }

    private static void secret(FakeClient client, String value) throws Exception {
        SecretSpec spec =
                new SecretSpec(
                        List.of(
                                new SecretBinding(
                                        "a.test", null, List.of(), null, SecretSlot.bearer())),
                        null,
                        null,
                        null,
                        null);
        PutSecret.Builder secret =
                PutSecret.newBuilder()
                        .setSecret("se1")
                        .setTenant("t")
                        .setName("token")
                        .setSpec(ByteString.copyFrom(Json.bytes(spec)))
                        .setValue(ByteString.copyFromUtf8(value));
        assertThat(client.ask(ControlRequest.newBuilder().setPutSecret(secret)).hasDone()).isTrue();
    }

    private static PutSandbox put(Rig rig, int port) {
        EgressJson policy = rig.local("a.test", port, "tcp");
        return PutSandbox.newBuilder()
                .setSandbox("sb1")
                .setTenant("t")
                .addLayers(ByteString.copyFrom(Json.bytes(policy)))
                .addSecrets(SecretUse.newBuilder().setSecret("se1").setPlaceholder("csp_x"))
                .build();
    }

    private static String value(FakeIntercept intercept) {
        byte[] value = Objects.requireNonNull(intercept.secrets).get().getFirst().value();
        return new String(value, StandardCharsets.UTF_8);
    }

    private static String everything(Path folder) throws Exception {
        StringBuilder all = new StringBuilder();
        try (var files = Files.walk(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                all.append(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1));
            }
        }
        return all.toString();
    }
}
