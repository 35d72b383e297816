package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.SecretStage.HOST;
import static dev.caisson.control.SecretStage.VALUE;
import static dev.caisson.control.SecretStage.bearer;
import static dev.caisson.control.SecretStage.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.Json;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretSource;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SecretsTest {
    private static final Listing ALL = new Listing(50, null, Set.of(), Map.of(), null);

    private final SecretStage stage = new SecretStage();
    private final Secrets secrets = stage.secrets;
    private final Caller one = stage.one;
    private final Caller other = stage.other;

    private static SecretRotateRequest value(String value) {
        return new SecretRotateRequest(SecretSource.ofValue(value), null, null, null);
    }

    @Test
    void isToldWithoutItsValue() {
        SecretJson made = stage.make(one, "key", VALUE);

        assertThat(made.name()).isEqualTo("key");
        assertThat(made.state()).isEqualTo("active");
        assertThat(made.source()).isEqualTo("value");
        assertThat(made.version()).isEqualTo(1);
        assertThat(made.spec().bindings().getFirst().host()).isEqualTo(HOST);
        assertThat(secrets.find(one, "key")).isEqualTo(made);
        assertThat(secrets.find(one, made.id())).isEqualTo(made);
        assertThat(secrets.list(one, ALL).items()).containsExactly(made);
        assertThat(Json.write(made)).doesNotContain(VALUE);
    }

    @Test
    void nothingThatIsStoredHoldsItsValue() {
        SecretJson made = stage.make(one, "key", VALUE);
        secrets.rotate(one, "key", value(VALUE + "2"));
        secrets.delete(one, "key");
        stage.make(one, "key", VALUE + "3");

        byte[] bytes = VALUE.getBytes(StandardCharsets.UTF_8);
        String all = stage.stored();
        // The control: what is stored in clear is found this way.
        assertThat(all).contains(made.id(), HOST, "secret.rotated", "secret.deleted");
        assertThat(all)
                .doesNotContain(
                        VALUE,
                        HexFormat.of().formatHex(bytes),
                        Base64.getEncoder().encodeToString(bytes).substring(0, 28));
    }

    @Test
    void requestsPrintWithoutTheValue() {
        SecretRequest request = request("key", VALUE);

        assertThat(request.toString()).contains("key", HOST).doesNotContain(VALUE);
        assertThat(value(VALUE).toString()).doesNotContain(VALUE);
        assertThat(Json.write(request)).contains(VALUE); // the control: it is in there
    }

    @Test
    void whatIsSealedForOneOpensForNoOther() {
        SecretJson mine = stage.make(one, "key", VALUE);
        SecretJson theirs = stage.make(other, "key", VALUE);
        Row row = stage.fixture.store.read(tx -> tx.find(Kind.SECRET, mine.id()).orElseThrow());
        String sealed = SecretDoc.of(row).sealed();
        Vault vault = stage.fixture.vault;

        assertThat(vault.open(Secrets.purpose(mine.id()), sealed)).isEqualTo(VALUE);
        refused(ErrorCode.INTERNAL, () -> vault.open(Secrets.purpose(theirs.id()), sealed));
    }

    @Test
    void tenantsDoNotSeeEachOthers() {
        SecretJson mine = stage.make(one, "key", VALUE);
        SecretJson theirs = stage.make(other, "key", VALUE + "-theirs");

        assertThat(secrets.find(other, "key").id()).isEqualTo(theirs.id());
        refused(ErrorCode.NOT_FOUND, () -> secrets.find(other, mine.id()));
        refused(ErrorCode.NOT_FOUND, () -> secrets.test(other, mine.id()));
        refused(ErrorCode.NOT_FOUND, () -> secrets.delete(other, mine.id()));
        refused(ErrorCode.NOT_FOUND, () -> secrets.rotate(other, mine.id(), value(VALUE)));
        assertThat(secrets.list(other, ALL).items()).containsExactly(theirs);
        assertThat(secrets.find(one, mine.id())).isEqualTo(mine);
    }

    @Test
    void aNameIsUniqueInItsTenant() {
        stage.make(one, "key", VALUE);

        refused(ErrorCode.ALREADY_EXISTS, () -> stage.make(one, "key", VALUE));
        for (String name : List.of("", "a b", "../x", "sc" + "0".repeat(20), "x".repeat(64))) {
            refused(ErrorCode.INVALID, () -> stage.make(one, name, VALUE));
        }
    }

    @Test
    void rolesThatMayNotMakeThemMakeNone() {
        stage.make(one, "key", VALUE);
        Caller agent = stage.fixture.caller(one, Role.AGENT);
        Caller auditor = stage.fixture.caller(one, Role.AUDITOR);

        refused(ErrorCode.POLICY_DENIED, () -> stage.make(agent, "mine", VALUE));
        refused(ErrorCode.POLICY_DENIED, () -> secrets.find(agent, "key"));
        refused(ErrorCode.POLICY_DENIED, () -> secrets.delete(auditor, "key"));
        refused(ErrorCode.POLICY_DENIED, () -> secrets.test(auditor, "key"));
        assertThat(secrets.find(auditor, "key").name()).isEqualTo("key");
    }

    @Test
    void rotatingGivesAnotherVersionAndKeepsTheRest() {
        SecretJson made = stage.make(one, "key", VALUE);
        stage.fixture.clock.advance(Duration.ofMinutes(1));

        SecretJson now = secrets.rotate(one, "key", value(VALUE + "2"));

        assertThat(now.version()).isEqualTo(2);
        assertThat(now.id()).isEqualTo(made.id());
        assertThat(now.spec()).isEqualTo(made.spec());
        assertThat(now.rotatedAt()).isEqualTo(stage.fixture.ledger.now());
        assertThat(stage.fixture.types(one.tenant())).contains("secret.created", "secret.rotated");
    }

    @Test
    void whereAValueGoesChangesOnlyWithTheValue() {
        stage.make(one, "key", VALUE);

        refused(
                ErrorCode.INVALID,
                () ->
                        secrets.rotate(
                                one,
                                "key",
                                new SecretRotateRequest(
                                        null, bearer("evil.example.net"), null, null)));
        assertThat(secrets.find(one, "key").spec().bindings().getFirst().host()).isEqualTo(HOST);
        SecretJson moved =
                secrets.rotate(
                        one,
                        "key",
                        new SecretRotateRequest(
                                SecretSource.ofValue("another-value"),
                                bearer("new.example.com"),
                                null,
                                null));
        assertThat(moved.spec().bindings().getFirst().host()).isEqualTo("new.example.com");
    }

    @Test
    void aValueCannotBeReadAgain() {
        stage.make(one, "key", VALUE);

        refused(
                ErrorCode.INVALID,
                () -> secrets.rotate(one, "key", new SecretRotateRequest(null, null, null, null)));
        refused(
                ErrorCode.INVALID,
                () ->
                        secrets.create(
                                one,
                                request(
                                        "k2",
                                        new SecretSource(VALUE, null, null, null, 5000L),
                                        bearer(HOST))));
    }

    @Test
    void itsEndIsGivenOnceAndLiesAhead() {
        SecretRequest lived =
                new SecretRequest("key", SecretSource.ofValue(VALUE), bearer(HOST), null, 60_000L);
        SecretJson made = secrets.create(one, lived);

        assertThat(made.expiresAt()).isEqualTo(stage.fixture.ledger.now().plusSeconds(60));
        stage.fixture.clock.advance(Duration.ofSeconds(60));
        assertThat(secrets.find(one, "key").state()).isEqualTo("expired");
        refused(
                ErrorCode.INVALID,
                () ->
                        secrets.create(
                                one,
                                new SecretRequest(
                                        "k2",
                                        SecretSource.ofValue(VALUE),
                                        bearer(HOST),
                                        made.expiresAt(),
                                        null)));
        refused(
                ErrorCode.INVALID,
                () ->
                        secrets.create(
                                one,
                                new SecretRequest(
                                        "k2",
                                        SecretSource.ofValue(VALUE),
                                        bearer(HOST),
                                        stage.fixture.ledger.now().plusSeconds(9),
                                        60_000L)));
        assertThat(
                        secrets.rotate(
                                        one,
                                        "key",
                                        new SecretRotateRequest(
                                                SecretSource.ofValue(VALUE), null, null, 1000L))
                                .state())
                .isEqualTo("active");
    }

    @Test
    void aTenantHasOnlySoMany() {
        for (int i = 0; i < 200; i++) {
            stage.make(one, "key" + i, VALUE);
        }

        CaissonException full =
                refused(ErrorCode.QUOTA_EXCEEDED, () -> stage.make(one, "more", VALUE));
        assertThat(full.details()).containsEntry("limit", "secrets");
        stage.make(other, "key", VALUE);
    }

    @Test
    void sourcesOfTheServerAreRefusedUnlessNamed() {
        for (SecretSource source :
                List.of(
                        new SecretSource(null, "/etc/hostname", null, null, null),
                        new SecretSource(null, null, "HOME", null, null),
                        new SecretSource(null, null, null, "vault", null))) {
            CaissonException why =
                    refused(
                            ErrorCode.POLICY_DENIED,
                            () -> secrets.create(stage.admin, request("k", source, bearer(HOST))));
            assertThat(why.details().get("setting")).startsWith("secrets.");
        }
        for (SecretSource source :
                List.of(
                        new SecretSource(null, null, null, null, null),
                        new SecretSource(VALUE, "/x", null, null, null))) {
            refused(
                    ErrorCode.INVALID,
                    () -> secrets.create(stage.admin, request("k", source, bearer(HOST))));
        }
    }

    @Test
    void sourcesOfTheServerAreForThoseWhoRunIt(@TempDir Path folder) throws Exception {
        SecretStage server =
                new SecretStage(
                        new SecretConfig(
                                List.of(folder),
                                Set.of("VAR"),
                                Map.of("print", List.of("/bin/echo", VALUE))));
        server.environment.put("VAR", VALUE);
        Files.writeString(folder.resolve("key"), VALUE + "\n");
        SecretSource file =
                new SecretSource(null, folder.resolve("key").toString(), null, null, null);
        for (SecretSource source :
                List.of(
                        file,
                        new SecretSource(null, null, "VAR", null, null),
                        new SecretSource(null, null, null, "print", null))) {
            String name = "k" + Integer.toHexString(source.hashCode());
            SecretRequest request = request(name, source, bearer(HOST));
            refused(ErrorCode.POLICY_DENIED, () -> server.secrets.create(server.one, request));
            Caller acting = server.fixture.acting.actFor(server.admin, server.one.tenant());
            SecretJson made = server.secrets.create(acting, request);
            assertThat(made.tenant()).isEqualTo(server.one.tenant());
            assertThat(made.refreshMillis()).isEqualTo(300_000);
            assertThat(server.secrets.test(server.one, name).readable()).isTrue();
            // What was made for a tenant it may read again and delete.
            assertThat(
                            server.secrets
                                    .rotate(
                                            server.one,
                                            name,
                                            new SecretRotateRequest(null, null, null, null))
                                    .version())
                    .isEqualTo(2);
            server.uses.open("sb1", Map.of(made.id(), ""));
            assertThat(server.sink.put(made.id()).value()).isEqualTo(VALUE);
        }
        assertThat(server.stored()).doesNotContain(VALUE);
    }

    @Test
    void testingSaysWhyWithoutTheValue(@TempDir Path folder) throws Exception {
        SecretStage server = new SecretStage(new SecretConfig(List.of(folder), Set.of(), Map.of()));
        Path file = folder.resolve("key");
        Files.writeString(file, VALUE);
        SecretSource source = new SecretSource(null, file.toString(), null, null, null);
        server.secrets.create(server.admin, request("key", source, bearer(HOST)));

        assertThat(server.secrets.test(server.admin, "key").readable()).isTrue();
        Files.writeString(file, VALUE + "\nsecond line");
        assertThat(server.secrets.test(server.admin, "key").problem())
                .contains("control characters")
                .doesNotContain(VALUE);
        Files.delete(file);
        assertThat(server.secrets.test(server.admin, "key").readable()).isFalse();
    }

    @Test
    void valuesThatWouldSplitAHeaderAreRefused() {
        for (String value :
                List.of("abc\r\nX-Evil: 1", "abc\u0000defgh", "five5", "tab\tinside", "")) {
            CaissonException why = refused(ErrorCode.INVALID, () -> stage.make(one, "key", value));
            if (!value.isEmpty()) {
                assertThat(why.message()).doesNotContain(value);
            }
        }
        assertThat(stage.make(one, "key", "x".repeat(64 << 10)).version()).isEqualTo(1);
        refused(ErrorCode.INVALID, () -> stage.make(one, "key2", "x".repeat((64 << 10) + 1)));
    }

    @Test
    void theyGoWithTheirTenant() {
        stage.make(one, "key", VALUE);
        stage.make(other, "key", VALUE);

        assertThat(stage.fixture.erasure.erase(stage.admin, one.tenant()).erased())
                .containsEntry("secrets", 1L);
        long left = stage.fixture.store.read(tx -> tx.count(Kind.SECRET, Query.of(one.tenant())));
        assertThat(left).isZero();
        assertThat(secrets.find(other, "key").name()).isEqualTo("key");
    }
}
