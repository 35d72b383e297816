package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.Fixture.request;
import static dev.caisson.control.Fixture.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.RotateRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class KeysTest {
    private final Fixture fixture = new Fixture();
    private final Keys keys = fixture.keys;

    @Test
    void firstStartMakesOneAdminKeyAndLaterStartsNone() {
        KeyJson first = keys.bootstrap().orElseThrow();
        assertThat(text(first)).matches("caisson_[0-9a-f]{40}");
        assertThat(keys.bootstrap()).isEmpty();
        assertThat(fixture.server("one").keys.bootstrap()).isEmpty();
        assertThat(fixture.server("two").keys.bootstrap()).isEmpty();
        Caller admin = keys.authenticate(text(first));
        assertThat(admin.role()).isEqualTo(Role.ADMIN);
        assertThat(fixture.tenants.find(admin, "self").name()).isEqualTo("default");
        assertThat(fixture.policies.find(admin, "default").tiers()).isEmpty();
    }

    @Test
    void serversThatStartTogetherMakeOneKey() throws Exception {
        List<Fixture> servers = Stream.of("a", "b", "c", "d").map(fixture::server).toList();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Optional<KeyJson>>> starts =
                    servers.stream().map(server -> threads.submit(server.keys::bootstrap)).toList();
            int made = 0;
            for (Future<Optional<KeyJson>> start : starts) {
                made += start.get().isPresent() ? 1 : 0;
            }
            assertThat(made).isEqualTo(1);
        }
    }

    @Test
    void listsByNameThoughNamesAreNotUnique() {
        Caller admin = fixture.admin();
        for (String name : List.of("twice", "other", "twice")) {
            keys.create(admin, new KeyRequest(name, Role.AGENT.value(), List.of(), null, null));
        }
        KeyJson first = keys.list(admin, named("twice")).items().getFirst();
        keys.rotate(admin, first.id(), new RotateRequest(null));
        keys.revoke(admin, first.id());
        assertThat(keys.list(admin, named("twice")).items())
                .hasSize(2)
                .allMatch(key -> "twice".equals(key.name()));
        assertThat(keys.list(admin, named("first")).items()).hasSize(1);
        assertThat(keys.list(admin, named("none")).items()).isEmpty();
    }

    private static Listing named(String name) {
        return new Listing(10, null, Set.of(), Map.of(), name);
    }

    @Test
    void everyFormOfAKeyIsTheSameKey() {
        String key = text(keys.bootstrap().orElseThrow());
        String digits = key.substring("caisson_".length());
        assertThat(keys.authenticate("e2b_" + digits)).isEqualTo(keys.authenticate(key));
        assertThat(keys.authenticate(digits)).isEqualTo(keys.authenticate(key));
    }

    @Test
    void everyCauseIsToldAlike() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        String key = text(made);
        keys.create(admin, request(Role.AGENT));
        KeyJson revoked = keys.create(admin, request(Role.AGENT));
        keys.revoke(admin, revoked.id());
        List<String> messages =
                Stream.of(
                                "",
                                "x",
                                key + "0",
                                key.toUpperCase(java.util.Locale.ROOT),
                                "caisson_" + "0".repeat(40),
                                key.substring(0, 20) + "0".repeat(28),
                                text(revoked))
                        .map(wrong ->
                                refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(wrong)))
                        .map(e -> e.message() + e.remedy() + e.details())
                        .distinct()
                        .toList();
        assertThat(messages).hasSize(1);
    }

    @Test
    void secretsAreStoredAsHashesOnly() {
        String key = text(keys.bootstrap().orElseThrow());
        String secret = key.substring(key.length() - 32);
        List<Row> rows = fixture.store.read(tx -> tx.list(Kind.KEY, Query.ALL));
        assertThat(rows).hasSize(1).noneMatch(row -> row.toString().contains(secret));
        assertThat(fixture.events(rows.getFirst().tenant()))
                .noneMatch(event -> event.toString().contains(secret));
    }

    @Test
    void whatARevokedKeyLeftBehindIsRefusedToo() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        Caller agent = keys.authenticate(text(made));
        keys.requireStill(agent);
        keys.revoke(admin, made.id());
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(agent));
    }

    @Test
    void revokedKeyIsRefusedAtOnceHereAndWithinTwoSecondsElsewhere() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        Fixture other = fixture.server("two");
        keys.authenticate(text(made));
        other.keys.authenticate(text(made));
        KeyJson revoked = keys.revoke(admin, made.id());
        assertThat(revoked.revokedAt()).isNotNull();
        assertThat(keys.revoke(admin, made.id())).isEqualTo(revoked);
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(text(made)));
        fixture.clock.advance(Duration.ofSeconds(2));
        refused(ErrorCode.UNAUTHENTICATED, () -> other.keys.authenticate(text(made)));
    }

    @Test
    void expiredKeyIsRefusedToTheMillisecond() {
        Caller admin = fixture.admin();
        String key = text(keys.create(admin, new KeyRequest(null, null, List.of(), 500L, null)));
        fixture.clock.advance(Duration.ofMillis(499));
        keys.authenticate(key);
        fixture.clock.advance(Duration.ofMillis(1));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(key));
    }

    @Test
    void rotationOverlapsAsAsked() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        KeyJson next = keys.rotate(admin, made.id(), new RotateRequest(60_000L));
        assertThat(next.id()).isEqualTo(made.id());
        keys.authenticate(text(made));
        keys.authenticate(text(next));
        fixture.clock.advance(Duration.ofMinutes(1));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(text(made)));
        KeyJson last = keys.rotate(admin, made.id(), new RotateRequest(null));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(text(next)));
        keys.authenticate(text(last));
    }

    @Test
    void whatWasBegunWithASecretEndsWithIt() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        Caller first = keys.authenticate(text(made));
        Caller second =
                keys.authenticate(text(keys.rotate(admin, made.id(), new RotateRequest(60_000L))));
        Instant overlap = fixture.ledger.now().plusSeconds(60);
        Caller late = keys.authenticate(text(made));
        assertThat(late.within(Instant.MAX)).isEqualTo(overlap);
        assertThat(second.within(Instant.MAX)).isEqualTo(Instant.MAX);
        keys.requireStill(first);
        keys.requireStill(late);
        keys.requireStill(second.narrowed(java.util.Set.of("files:read")));
        fixture.clock.advance(Duration.ofMinutes(1));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(first));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(late));
        keys.requireStill(second);
        keys.rotate(admin, made.id(), new RotateRequest(null));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(second));
    }

    /** Else who has found an old secret would keep the key, and its owner would lose it. */
    @Test
    void aSecretThatWasReplacedGivesNothingThatLastsLongerThanItself() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.ADMIN));
        Caller owner =
                keys.authenticate(text(keys.rotate(admin, made.id(), new RotateRequest(60_000L))));
        Caller thief = keys.authenticate(text(made));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.rotate(thief, made.id(), new RotateRequest(null)));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.create(thief, new KeyRequest(null, "admin", List.of(), 60_001L, null)));
        KeyJson brief = keys.create(thief, new KeyRequest(null, "admin", List.of(), null, null));
        assertThat(brief.expiresAt()).isEqualTo(fixture.ledger.now().plusSeconds(60));

        fixture.clock.advance(Duration.ofMinutes(1));
        // Within the moment in which a server does not know it yet.
        refused(
                ErrorCode.UNAUTHENTICATED,
                () -> keys.create(thief, new KeyRequest(null, null, List.of(), 1L, null)));
        refused(
                ErrorCode.UNAUTHENTICATED,
                () -> keys.rotate(thief, made.id(), new RotateRequest(null)));
        // Control: its owner's is good, and rotates itself.
        Caller again =
                keys.authenticate(text(keys.rotate(owner, made.id(), new RotateRequest(null))));
        assertThat(keys.create(again, request(Role.AGENT)).expiresAt()).isNull();
    }

    @Test
    void aCallerThatHasPresentedNothingIsNone() {
        Caller admin = fixture.admin();
        Caller nobody =
                new Caller(
                        admin.tenant(),
                        admin.keyId(),
                        admin.subject(),
                        admin.role(),
                        admin.scopes(),
                        null,
                        false,
                        admin.claimed(),
                        null,
                        Proof.NONE);
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(nobody));
        keys.requireStill(admin); // control
    }

    @Test
    void whoActsForATenantEndsWithTheSecretToo() {
        Caller admin = fixture.admin();
        fixture.tenant(admin, "a", null);
        Caller acting = fixture.acting.actFor(admin, "a");
        keys.requireStill(acting);
        keys.rotate(admin, admin.keyId(), new RotateRequest(null));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.requireStill(acting));
    }

    private KeyJson make(Caller maker, @Nullable Long lifeMillis) {
        return keys.create(
                maker, new KeyRequest(null, Role.OPERATOR.value(), List.of(), lifeMillis, null));
    }

    @Test
    void aKeyThatExpiresGivesNothingThatLastsLonger() {
        Caller admin = fixture.admin();
        KeyJson brief = make(admin, 60_000L);
        Caller holder = keys.authenticate(text(brief));
        fixture.clock.advance(Duration.ofSeconds(10));
        assertThat(keys.create(holder, request(Role.AGENT)).expiresAt())
                .isEqualTo(brief.expiresAt());
        assertThat(make(holder, 50_000L).expiresAt()).isEqualTo(brief.expiresAt());
        CaissonException refusal = refused(ErrorCode.POLICY_DENIED, () -> make(holder, 50_001L));
        assertThat(refusal.details()).containsEntry("allowed", "50000");
        assertThat(keys.create(admin, request(Role.AGENT)).expiresAt()).isNull(); // control
        assertThat(make(admin, 50_001L).expiresAt()).isAfter(brief.expiresAt());
    }

    @Test
    void aKeyThatExpiresRotatesNothingThatLastsLonger() {
        Caller admin = fixture.admin();
        KeyJson brief = make(admin, 60_000L);
        Caller holder = keys.authenticate(text(brief));
        RotateRequest atOnce = new RotateRequest(null);
        for (KeyJson longer :
                List.of(make(admin, 60_001L), keys.create(admin, request(Role.AGENT)))) {
            refused(ErrorCode.POLICY_DENIED, () -> keys.rotate(holder, longer.id(), atOnce));
            keys.rotate(admin, longer.id(), atOnce); // control
        }
        keys.rotate(holder, make(admin, 60_000L).id(), atOnce);
        assertThat(keys.rotate(holder, brief.id(), atOnce).expiresAt())
                .isEqualTo(brief.expiresAt());
    }

    @Test
    void aKeyThatWasRevokedElsewhereMakesNoneInTheMomentUntilThatIsKnown() {
        Caller admin = fixture.admin();
        KeyJson made = make(admin, null);
        KeyJson colleague = make(admin, null);
        Fixture other = fixture.server("two");
        Caller there = other.keys.authenticate(text(made));
        keys.revoke(admin, made.id());
        other.keys.authenticate(text(made)); // control: it is not known there yet
        refused(ErrorCode.UNAUTHENTICATED, () -> other.keys.create(there, request(Role.AGENT)));
        refused(
                ErrorCode.UNAUTHENTICATED,
                () -> other.keys.rotate(there, colleague.id(), new RotateRequest(null)));
    }

    @Test
    void nobodyMakesAKeyThatCanDoMore() {
        Caller admin = fixture.admin();
        Caller operator = fixture.caller(admin, Role.OPERATOR);
        Caller agent = fixture.caller(admin, Role.AGENT);
        Caller auditor = fixture.caller(admin, Role.AUDITOR);
        Caller scoped = fixture.caller(admin, Role.ADMIN, "keys:write", "runs:read");
        for (Caller caller : List.of(agent, auditor)) {
            refused(ErrorCode.POLICY_DENIED, () -> keys.create(caller, request(Role.AGENT)));
        }
        refused(ErrorCode.POLICY_DENIED, () -> keys.create(operator, request(Role.ADMIN)));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.rotate(operator, admin.keyId(), new RotateRequest(null)));
        refused(ErrorCode.POLICY_DENIED, () -> keys.revoke(operator, admin.keyId()));
        refused(ErrorCode.POLICY_DENIED, () -> keys.create(scoped, request(Role.AGENT)));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.create(scoped, request(Role.AGENT, "runs:write")));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.rotate(scoped, admin.keyId(), new RotateRequest(null)));
        assertThat(keys.create(scoped, request(Role.AGENT, "runs:read")).scopes())
                .containsExactly("runs:read");
    }

    @Test
    void keyWithAPolicyMakesOnlyKeysWithIt() {
        Caller admin = fixture.admin();
        fixture.policies.put(admin, "small", PolicyJson.defaults(), null);
        fixture.policies.put(admin, "other", PolicyJson.defaults(), null);
        KeyRequest small = new KeyRequest(null, Role.OPERATOR.value(), List.of(), null, "small");
        Caller bound = keys.authenticate(text(keys.create(admin, small)));
        assertThat(keys.create(bound, request(Role.AGENT)).policy()).isEqualTo("small");
        refused(
                ErrorCode.POLICY_DENIED,
                () -> keys.create(bound, new KeyRequest(null, null, List.of(), null, "other")));
        refused(
                ErrorCode.POLICY_DENIED,
                () -> fixture.policies.put(bound, "small", PolicyJson.defaults(), null));
        refused(ErrorCode.INVALID_STATE, () -> fixture.policies.delete(admin, "small"));
        fixture.policies.delete(admin, "other");
    }

    @Test
    void anotherTenantsKeysDoNotExist() {
        Caller admin = fixture.admin();
        Caller a = fixture.tenant(admin, "a", null);
        Caller b = fixture.tenant(admin, "b", null);
        String id = b.keyId();
        refused(ErrorCode.NOT_FOUND, () -> keys.find(a, id));
        refused(ErrorCode.NOT_FOUND, () -> keys.revoke(a, id));
        refused(ErrorCode.NOT_FOUND, () -> keys.rotate(a, id, new RotateRequest(null)));
        assertThat(keys.list(a, Listing.FIRST).items())
                .extracting(KeyJson::id)
                .doesNotContain(id)
                .contains(a.keyId());
    }

    @Test
    void theLastAdminOfTheServiceStays() {
        Caller admin = fixture.admin();
        refused(ErrorCode.INVALID_STATE, () -> keys.revoke(admin, admin.keyId()));
        keys.create(admin, request(Role.ADMIN));
        keys.revoke(admin, admin.keyId());
    }

    @Test
    void useIsWrittenOnceAMinute() {
        KeyJson first = keys.bootstrap().orElseThrow();
        for (int i = 0; i < 50; i++) {
            keys.authenticate(text(first));
            fixture.clock.advance(Duration.ofSeconds(1));
        }
        await().until(() -> version(first.id()) == 2);
        fixture.clock.advance(Duration.ofSeconds(11));
        Caller admin = keys.authenticate(text(first));
        Instant now = fixture.ledger.now();
        await().until(() -> now.equals(keys.find(admin, first.id()).lastUsedAt()));
        assertThat(version(first.id())).isEqualTo(3);
    }

    private long version(String id) {
        return fixture.store.read(tx -> tx.find(Kind.KEY, id).orElseThrow()).version();
    }

    @Test
    void guessingIsBoundedAndDoesNotLockTheHolderOut() {
        Caller admin = fixture.admin();
        KeyJson made = keys.create(admin, request(Role.AGENT));
        String key = text(made);
        keys.authenticate(key);
        for (int i = 0; i < Attempts.MAX_FAILURES; i++) {
            String wrong = Credentials.text(made.id(), Credentials.newSecret());
            refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(wrong));
        }
        keys.authenticate(key);
        // A secret that is right but was not seen yet waits for the minute to end.
        KeyJson next = keys.rotate(admin, made.id(), new RotateRequest(600_000L));
        refused(ErrorCode.UNAUTHENTICATED, () -> keys.authenticate(text(next)));
        fixture.clock.advance(Duration.ofMinutes(1));
        keys.authenticate(text(next));
    }

    @Test
    void malformedRequestsNameTheirField() {
        Caller admin = fixture.admin();
        for (KeyRequest wrong :
                List.of(
                        new KeyRequest(null, "root", List.of(), null, null),
                        new KeyRequest(" ", null, List.of(), null, null),
                        new KeyRequest(null, null, List.of("runs"), null, null),
                        new KeyRequest(null, null, List.of("runs:read:write"), null, null),
                        new KeyRequest(null, null, List.of("moon:read"), null, null),
                        new KeyRequest(null, null, List.of(), 0L, null),
                        new KeyRequest(null, null, List.of(), Long.MAX_VALUE, null))) {
            CaissonException refusal = refused(ErrorCode.INVALID, () -> keys.create(admin, wrong));
            assertThat(refusal.details()).isNotEmpty();
        }
    }
}
