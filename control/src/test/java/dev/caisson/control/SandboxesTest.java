package dev.caisson.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxRequest;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is asked of sandboxes and what is answered, against the contract. */
final class SandboxesTest {
    @TempDir private Path folder;
    private FakeHost host;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
    }

    @AfterEach
    void close() {
        host.close();
    }

    private SandboxService sandboxes() {
        return host.service.sandboxes();
    }

    private static SandboxRequest request(String json) {
        return Json.read(json, SandboxRequest.class);
    }

    private PolicyJson policy(String name, String json) {
        return host.service
                .policies()
                .put(host.admin, name, Json.read(json, PolicyJson.class), null);
    }

    @Test
    void anExtensionIsAnEventWithItsActor() {
        SandboxJson made = host.create();
        sandboxes().extend(host.admin, made.id(), new ExtendRequest(60_000L));
        EventJson event = host.events().getLast();
        assertThat(event.type()).isEqualTo("sandbox.changed");
        assertThat(event.reason()).isEqualTo("extended");
        assertThat(event.actor().keyId()).isEqualTo(host.admin.keyId());
        assertThat(event.data().toString()).contains("timeoutMillis=60000");
    }

    @Test
    void theProductsOwnBoundsAreNotToldAsAPolicy() {
        long month = Duration.ofDays(31).toMillis();
        long years = Duration.ofDays(366).toMillis();
        for (String body :
                List.of(
                        "{\"timeoutMillis\":" + month + "}",
                        "{\"idleTimeoutMillis\":" + month + "}",
                        "{\"maxLifeMillis\":" + years + "}")) {
            CaissonException refusal =
                    Fixture.refused(
                            ErrorCode.INVALID, () -> sandboxes().create(host.admin, request(body)));
            assertThat(refusal.details()).containsKeys("limit", "requested", "allowed");
        }
        policy("default", "{\"maxTimeoutMillis\":1000,\"maxLifeMillis\":1000}");
        for (String field : List.of("timeoutMillis", "maxLifeMillis")) {
            Fixture.refused(
                    ErrorCode.POLICY_DENIED,
                    () -> sandboxes().create(host.admin, request("{\"" + field + "\":1001}")));
        }
    }

    @Test
    void anEnvironmentIsCountedInBytesAndTooLargeIsToldAlike() {
        String sandbox = host.create().id();
        Map<String, String> wide = Map.of("A", "é".repeat(65 << 10));
        CaissonException ofSandbox =
                Fixture.refused(
                        ErrorCode.TOO_LARGE,
                        () ->
                                sandboxes()
                                        .create(
                                                host.admin,
                                                FakeHost.request(null, null, wide, null)));
        ExecRequest command = ExecRequest.of(List.of("true"));
        String json =
                Json.write(command)
                        .replaceFirst(
                                "\"env\":\\{}",
                                "\"env\":{\"A\":\"" + "é".repeat(257 << 10) + "\"}");
        CaissonException ofExec =
                Fixture.refused(
                        ErrorCode.TOO_LARGE,
                        () ->
                                host.service
                                        .execs()
                                        .start(
                                                host.admin,
                                                sandbox,
                                                Json.read(json, ExecRequest.class)));
        assertThat(ofSandbox.details()).containsEntry("limit", "env");
        assertThat(ofExec.details()).containsEntry("limit", "env");
        assertThat(host.launcher.living()).isEqualTo(1);
    }

    @Test
    void theSamePolicyByIdOrNameIsTheSame() {
        String id = Objects.requireNonNull(policy("narrow", "{}").id());
        String body = "{\"name\":\"one\",\"ifExists\":\"return\"";
        String made = create(body + ",\"policy\":\"narrow\"}").sandbox().id();
        SandboxService.Made again = create(body + ",\"policy\":\"" + id + "\"}");
        assertThat(again.existed()).isTrue();
        assertThat(again.sandbox().id()).isEqualTo(made);
        policy("wide", "{}");
        Fixture.refused(ErrorCode.ALREADY_EXISTS, () -> create(body + ",\"policy\":\"wide\"}"));
        Fixture.refused(ErrorCode.ALREADY_EXISTS, () -> create(body + "}"));
        String own = "{\"name\":\"two\",\"ifExists\":\"return\"";
        create(own + "}");
        assertThat(create(own + ",\"policy\":\"default\"}").existed()).isTrue();
    }

    private SandboxService.Made create(String body) {
        return sandboxes().create(host.admin, request(body));
    }

    @Test
    void whoMayNotHaveRootUsesNothingInWhichItIs() {
        policy("default", "{\"root\":\"allowed\"}");
        policy("rootless", "{\"root\":\"denied\"}");
        String id = create("{\"root\":\"allowed\"}").sandbox().id();
        Caller narrow =
                host.service.authenticate(
                        Fixture.text(
                                host.service
                                        .keys()
                                        .create(
                                                host.admin,
                                                new KeyRequest(
                                                        null,
                                                        Role.OPERATOR.value(),
                                                        List.of(),
                                                        null,
                                                        "rootless"))));
        String exec = host.start(id, "sleep");
        host.service.ports().open(host.admin, id, new PortRequest(81, "token"));
        FileService files = host.service.files();
        List<ThrowingCallable> uses =
                List.of(
                        () ->
                                host.service
                                        .execs()
                                        .start(narrow, id, ExecRequest.of(List.of("true"))),
                        () -> files.stat(narrow, id, "/work"),
                        () -> files.write(narrow, id, "/work/a", empty(), null),
                        () -> files.watch(narrow, id, "/work", false, event -> {}),
                        () -> host.service.ports().dial(narrow, id, 80),
                        () -> host.service.ports().open(narrow, id, new PortRequest(80, "token")),
                        () ->
                                host.service
                                        .ports()
                                        .link(narrow, id, 81, new PortLinkRequest(null, null)),
                        () -> host.service.execs().input(narrow, exec, empty(), false),
                        () -> sandboxes().addUser(narrow, id, "bob"));
        for (ThrowingCallable use : uses) {
            assertThat(Fixture.refused(ErrorCode.POLICY_DENIED, use).message()).contains("root");
        }
        // Nor are they told what lets them in.
        assertThat(host.service.ports().list(narrow, id).getFirst().token()).isNull();
        assertThat(host.service.ports().list(host.admin, id).getFirst().token()).isNotNull();
        String plain = host.create().id();
        assertThat(host.service.execs().start(narrow, plain, ExecRequest.of(List.of("true"))))
                .isNotNull();
        assertThat(host.service.execs().start(host.admin, id, ExecRequest.of(List.of("true"))))
                .isNotNull();
    }

    private static ByteArrayInputStream empty() {
        return new ByteArrayInputStream(new byte[0]);
    }

    @Test
    void onlyThoseWhoRunTheServiceMayAskForItsNumbers() {
        host.service.requireService(host.admin);
        Caller home = operator(host.admin);
        host.service.requireService(home);
        Caller tenant = host.tenant("t", null);
        Caller admin =
                host.service.authenticate(
                        Fixture.text(
                                host.service.keys().create(tenant, Fixture.request(Role.ADMIN))));
        Fixture.refused(ErrorCode.POLICY_DENIED, () -> host.service.requireService(admin));
        Fixture.refused(
                ErrorCode.POLICY_DENIED, () -> host.service.requireService(operator(admin)));
    }

    private Caller operator(Caller maker) {
        return host.service.authenticate(
                Fixture.text(host.service.keys().create(maker, Fixture.request(Role.OPERATOR))));
    }
}
