package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static dev.caisson.control.Fixture.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Tunnel;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ApprovalRule;
import dev.caisson.v1.DecisionRequest;
import dev.caisson.v1.Json;
import dev.caisson.v1.KeyJson;
import dev.caisson.v1.KeyRequest;
import dev.caisson.v1.PolicyJson;
import dev.caisson.v1.PortJson;
import dev.caisson.v1.PortLinkJson;
import dev.caisson.v1.PortLinkRequest;
import dev.caisson.v1.PortRequest;
import dev.caisson.v1.RotateRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who gets to a port: tokens and their openings, links of browsers, and approvals. */
final class PortsTest {
    private static final int PORT = 80;
    private static final PortLinkRequest LINK = new PortLinkRequest(null, null);

    @TempDir private Path folder;
    private FakeHost host;
    private String id;

    @BeforeEach
    void open() {
        host = FakeHost.open(folder);
        policy(List.of(), true);
        id = host.create().id();
        listens(id);
    }

    /** A program that waits for the end. */
    private void listens(String sandbox) {
        host.agent(sandbox).ports().listen(PORT, connection -> connection.read());
    }

    @AfterEach
    void close() {
        host.close();
    }

    private void policy(List<ApprovalRule> ask, boolean publicPorts) {
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
                        publicPorts,
                        null,
                        null,
                        ask,
                        60_000L,
                        null,
                        null);
        host.service.policies().put(host.admin, "default", policy, null);
    }

    private KeyJson key(Role role, String... scopes) {
        return host.service
                .keys()
                .create(
                        host.admin,
                        new KeyRequest(null, role.value(), List.of(scopes), null, null));
    }

    private Caller caller(Role role, String... scopes) {
        return host.service.authenticate(text(key(role, scopes)));
    }

    private PortService ports() {
        return host.service.ports();
    }

    private String open(String access) {
        PortJson opened = ports().open(host.admin, id, new PortRequest(PORT, access));
        return Objects.requireNonNullElse(opened.token(), "");
    }

    private static PortVisitor token(String token) {
        return new PortVisitor(token, List.of());
    }

    private static PortVisitor passes(String... passes) {
        return new PortVisitor(null, List.of(passes));
    }

    private void visit(PortVisitor visitor) {
        ports().dialPublic(id, PORT, visitor, tenant -> {}).close();
    }

    private void isLetIn(PortVisitor visitor) {
        visit(visitor);
    }

    private CaissonException isRefused(PortVisitor visitor) {
        return refused(ErrorCode.UNAUTHENTICATED, () -> visit(visitor));
    }

    // ---- tokens

    @Test
    void aTokenIsOfOneOpening() {
        String first = open("token");
        assertThat(open("token")).isEqualTo(first);
        isLetIn(token(first));
        ports().close(host.admin, id, PORT);
        refused(ErrorCode.NOT_FOUND, () -> visit(token(first)));
        String second = open("token");
        assertThat(second).isNotEqualTo(first);
        isRefused(token(first));
        isLetIn(token(second));
    }

    @Test
    void anotherAccessIsAnotherOpeningAndCutsWhoIsConnected() throws Exception {
        String first = open("token");
        assertThat(open("public")).isEmpty();
        Tunnel stranger = ports().dialPublic(id, PORT, passes(), tenant -> {});
        assertThat(open("public")).isEmpty();
        stranger.output().write(1); // control: nothing has changed
        String second = open("token");
        assertThat(second).isNotEqualTo(first);
        await().until(() -> host.agent(id).ports().open() == 0);
        isRefused(token(first));
        isRefused(passes());
        isLetIn(token(second));
        stranger.close();
    }

    @Test
    void openingsOutliveAServer() {
        open("token");
        ports().close(host.admin, id, PORT);
        String token = open("token");
        try (FakeHost next = host.restart()) {
            host = next;
            isLetIn(token(token));
            assertThat(listed(host.admin).token()).isEqualTo(token);
        }
    }

    private PortJson listed(Caller caller) {
        List<PortJson> all = ports().list(caller, id);
        assertThat(all).hasSize(1);
        return all.getFirst();
    }

    @Test
    void aPortOpenedByAnEarlierVersionKeepsItsTokenUntilItIsClosed() {
        SandboxDoc doc = new SandboxDoc();
        doc.id = "sb1";
        doc.session = "ss1";
        doc.ports.put("80", "token");
        String old = Json.write(doc).replaceFirst(",?\"openings\":\\{[^}]*}", "");
        assertThat(old).doesNotContain("openings");
        SandboxDoc read = Json.read(old, SandboxDoc.class);
        Vault vault = new Vault(new byte[32]);
        PortAccess access = new PortAccess(vault, Instant::now);
        assertThat(access.token(read, PORT))
                .isEqualTo(
                        java.util.HexFormat.of()
                                .formatHex(vault.hmac("port\nsb1\nss1\n80"), 0, 20));
        read.openings.put("80", PortAccess.newOpening());
        assertThat(access.isToken(read, PORT, access.token(doc, PORT))).isFalse();
    }

    @Test
    void onlyWhoMayOpenPortsIsToldTheirTokens() {
        String token = open("token");
        assertThat(listed(caller(Role.AGENT)).token()).isEqualTo(token);
        assertThat(listed(caller(Role.AGENT, "ports:write")).token()).isEqualTo(token);
        PortJson read = listed(caller(Role.ADMIN, "ports:read"));
        assertThat(read.access()).isEqualTo("token");
        assertThat(read.token()).isNull();
    }

    // ---- links

    private PortLinkJson link(Caller caller, PortLinkRequest request) {
        return ports().link(caller, id, PORT, request);
    }

    private static String tail(PortLinkJson link) {
        return link.url()
                .substring(link.url().indexOf(PortService.LINKS) + PortService.LINKS.length());
    }

    private String pass(Caller caller) {
        return ports().enter(id, PORT, tail(link(caller, LINK))).pass();
    }

    @Test
    void aLinkLetsOneBrowserIn() {
        open("token");
        PortLinkJson link = link(host.admin, new PortLinkRequest("/app?x=1", 60_000L));
        assertThat(link.url()).startsWith("http://80-" + id + ".localhost" + PortService.LINKS);
        PortService.Entry entry = ports().enter(id, PORT, tail(link));
        assertThat(entry.path()).isEqualTo("/app?x=1");
        assertThat(entry.life()).isEqualTo(Duration.ofMinutes(1));
        isLetIn(passes("nonsense", entry.pass()));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, tail(link)));
        host.clock.advance(Duration.ofMinutes(1));
        isRefused(passes(entry.pass()));
    }

    @Test
    void aLinkExpiresAndSoDoesWhatIsConnected() {
        open("token");
        PortLinkJson link = link(host.admin, LINK);
        assertThat(link.visitEndsAt()).isEqualTo(host.clock.instant().plusSeconds(3600));
        host.clock.advance(PortAccess.LINK_LIFE.minusMillis(1));
        ports().enter(id, PORT, tail(link(host.admin, LINK))); // control
        host.clock.advance(Duration.ofMillis(1));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, tail(link)));
        PortLinkJson brief = link(host.admin, new PortLinkRequest(null, 300L));
        String pass = ports().enter(id, PORT, tail(brief)).pass();
        Tunnel tunnel = ports().dialPublic(id, PORT, passes(pass), tenant -> {});
        assertThat(host.held("tunnels")).isEqualTo(1);
        await().until(() -> host.held("tunnels") == 0);
        tunnel.close();
    }

    @Test
    void aPassIsOfOnePortOfOneSandboxInOneOpening() {
        open("token");
        String other = host.create().id();
        listens(other);
        ports().open(host.admin, other, new PortRequest(PORT, null));
        ports().open(host.admin, id, new PortRequest(PORT + 1, null));
        String pass = pass(host.admin);
        isLetIn(passes(pass)); // control
        refused(
                ErrorCode.UNAUTHENTICATED,
                () -> ports().dialPublic(other, PORT, passes(pass), tenant -> {}));
        refused(
                ErrorCode.UNAUTHENTICATED,
                () -> ports().dialPublic(id, PORT + 1, passes(pass), tenant -> {}));
        String link = tail(link(host.admin, LINK));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(other, PORT, link));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT + 1, link));
        ports().close(host.admin, id, PORT);
        refused(ErrorCode.NOT_FOUND, () -> visit(passes(pass)));
        refused(ErrorCode.NOT_FOUND, () -> ports().enter(id, PORT, link));
        refused(ErrorCode.NOT_FOUND, () -> link(host.admin, LINK));
        open("token");
        isRefused(passes(pass));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, link));
        isLetIn(passes(pass(host.admin)));
    }

    @Test
    void nothingIsForged() {
        open("token");
        String pass = pass(host.admin);
        isLetIn(passes(pass)); // control
        String later = pass.replaceFirst("^[0-9]+", "999999999999999");
        String other = pass.replaceFirst("\\.[0-9a-f]{8}\\.", ".00000000.");
        for (String forged :
                List.of(later, other, pass + "A", pass.substring(1), "", ".", "...", "a.b.c.d")) {
            isRefused(passes(forged));
        }
        isRefused(token(pass));
        String link = tail(link(host.admin, LINK));
        for (String forged : List.of(link + "A", link.substring(1), "", ".", "a.b", pass)) {
            refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, forged));
        }
        isRefused(passes(link));
        ports().enter(id, PORT, link); // control
    }

    @Test
    void whatAKeyLetInEndsWithItsSecret() {
        open("token");
        KeyJson made = key(Role.AGENT);
        Caller agent = host.service.authenticate(text(made));
        String pass = pass(agent);
        String link = tail(link(agent, LINK));
        isLetIn(passes(pass));
        KeyJson next =
                host.service.keys().rotate(host.admin, made.id(), new RotateRequest(60_000L));
        isLetIn(passes(pass)); // while both secrets are good
        host.clock.advance(Duration.ofSeconds(59));
        String last = pass(host.service.authenticate(text(next)));
        host.clock.advance(Duration.ofSeconds(1));
        isRefused(passes(pass));
        refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, link));
        isLetIn(passes(last));
        host.service.keys().revoke(host.admin, made.id());
        isRefused(passes(last));
    }

    @Test
    void aLinkNeverLastsLongerThanWhatItWasMadeWith() {
        open("token");
        Instant end = host.clock.instant().plusSeconds(30);
        Caller person =
                new Caller(
                        host.admin.tenant(),
                        Tokens.PREFIX + "0".repeat(20),
                        "person",
                        Role.AGENT,
                        java.util.Set.of(),
                        null,
                        false,
                        Map.of(),
                        null,
                        new Proof("", end));
        PortLinkJson link = link(person, LINK);
        assertThat(link.expiresAt()).isEqualTo(end);
        assertThat(link.visitEndsAt()).isEqualTo(end);
        String pass = ports().enter(id, PORT, tail(link)).pass();
        isLetIn(passes(pass));
        host.clock.advance(Duration.ofSeconds(30));
        isRefused(passes(pass));
    }

    @Test
    void aLinkLeadsNowhereElse() {
        open("token");
        for (String path :
                List.of(
                        "//other.example/",
                        "/\\other.example/",
                        "\\\\other.example",
                        "https://other.example/",
                        "other.example",
                        "javascript:alert(1)",
                        "/a\r\nSet-Cookie: x=y",
                        "/\t/other.example",
                        "/a b",
                        "/ä",
                        "",
                        "/" + "a".repeat(2049))) {
            CaissonException refusal =
                    refused(
                            ErrorCode.INVALID,
                            () -> link(host.admin, new PortLinkRequest(path, null)));
            assertThat(refusal.details()).as(path).containsEntry("field", "path");
        }
        for (long millis : new long[] {0, -1, 86_400_001}) {
            refused(ErrorCode.INVALID, () -> link(host.admin, new PortLinkRequest(null, millis)));
        }
        link(host.admin, new PortLinkRequest("/a//b?to=//other.example#x", 86_400_000L));
    }

    @Test
    void onlyWhoMayOpenPortsMakesLinks() {
        open("token");
        refused(
                ErrorCode.POLICY_DENIED,
                () -> link(caller(Role.ADMIN, "ports:read", "sandboxes:write"), LINK));
        refused(ErrorCode.NOT_FOUND, () -> link(host.tenant("b", null), LINK));
        link(caller(Role.AGENT), LINK); // control
    }

    @Test
    void aLinkOfAnEarlierServerIsNoneForNobodyKnowsWhoFollowedIt() {
        open("token");
        String link = tail(link(host.admin, LINK));
        String pass = pass(host.admin);
        try (FakeHost next = host.restart()) {
            host = next;
            refused(ErrorCode.UNAUTHENTICATED, () -> ports().enter(id, PORT, link));
            isLetIn(passes(pass));
        }
    }

    // ---- approvals

    private static final ApprovalRule ASK =
            new ApprovalRule("port", List.of(), List.of(), List.of());

    private <T> FutureTask<T> begun(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread.ofVirtual().start(task);
        return task;
    }

    private ApprovalJson waiting() {
        await().until(() -> !waitingOnes().isEmpty());
        return waitingOnes().getFirst();
    }

    private List<ApprovalJson> waitingOnes() {
        return host.service
                .approvals()
                .list(
                        host.admin,
                        new Listing(50, null, java.util.Set.of("waiting"), Map.of(), null))
                .items();
    }

    private void decide(ApprovalJson approval, boolean yes, @Nullable String remember) {
        host.service
                .approvals()
                .decide(host.admin, approval.id(), new DecisionRequest(yes, remember));
    }

    private static void isRefused(FutureTask<?> task, ErrorCode code) {
        refused(
                code,
                () -> {
                    try {
                        task.get(20, TimeUnit.SECONDS);
                    } catch (java.util.concurrent.ExecutionException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void aPortIsOpenWhenAPersonHasSaidYes() throws Exception {
        policy(List.of(ASK), true);
        Caller agent = caller(Role.AGENT);
        FutureTask<PortJson> opening =
                begun(() -> ports().open(agent, id, new PortRequest(PORT, "public")));
        ApprovalJson asked = waiting();
        assertThat(asked.kind()).isEqualTo("port");
        assertThat(asked.details()).containsEntry("port", "80").containsEntry("access", "public");
        assertThat(asked.subject()).contains(id);
        assertThat(opening.isDone()).isFalse();
        assertThat(ports().list(agent, id)).isEmpty();
        decide(asked, true, "session");
        assertThat(opening.get(20, TimeUnit.SECONDS).access()).isEqualTo("public");
        isLetIn(passes());
        // Remembered for the same, and for nothing else.
        ports().close(agent, id, PORT);
        ports().open(agent, id, new PortRequest(PORT, "public"));
        FutureTask<PortJson> other =
                begun(() -> ports().open(agent, id, new PortRequest(PORT + 1, "public")));
        decide(waiting(), false, null);
        isRefused(other, ErrorCode.POLICY_DENIED);
        assertThat(ports().list(agent, id)).hasSize(1);
    }

    @Test
    void nobodyDialsWithoutAYesButToWhatIsOpen() throws Exception {
        policy(List.of(ASK), false);
        Caller agent = caller(Role.AGENT);
        FutureTask<Tunnel> no = begun(() -> ports().dial(agent, id, PORT));
        ApprovalJson asked = waiting();
        assertThat(asked.details()).containsEntry("access", "forward");
        assertThat(host.agent(id).ports().open()).isZero();
        decide(asked, false, null);
        isRefused(no, ErrorCode.POLICY_DENIED);
        FutureTask<Tunnel> yes = begun(() -> ports().dial(agent, id, PORT));
        decide(waiting(), true, null);
        yes.get(20, TimeUnit.SECONDS).close();
        FutureTask<PortJson> opening =
                begun(() -> ports().open(agent, id, new PortRequest(PORT, null)));
        decide(waiting(), true, null);
        opening.get(20, TimeUnit.SECONDS);
        ports().dial(agent, id, PORT).close();
        assertThat(waitingOnes()).isEmpty();
    }

    @Test
    void noAnswerIsANo() {
        policy(List.of(ASK), false);
        Caller agent = caller(Role.AGENT);
        FutureTask<PortJson> opening =
                begun(() -> ports().open(agent, id, new PortRequest(PORT, null)));
        FutureTask<Tunnel> dialling = begun(() -> ports().dial(agent, id, PORT));
        await().until(() -> waitingOnes().size() == 2);
        host.clock.advance(Duration.ofMinutes(1));
        isRefused(opening, ErrorCode.POLICY_DENIED);
        isRefused(dialling, ErrorCode.POLICY_DENIED);
        assertThat(ports().list(agent, id)).isEmpty();
        assertThat(host.types("approval.expired")).hasSize(2);
    }

    @Test
    void aYesComesTooLateForAKeyThatWasRevokedMeanwhile() throws Exception {
        policy(List.of(ASK), false);
        KeyJson made = key(Role.AGENT);
        Caller agent = host.service.authenticate(text(made));
        FutureTask<PortJson> opening =
                begun(() -> ports().open(agent, id, new PortRequest(PORT, null)));
        ApprovalJson first = waiting();
        FutureTask<Tunnel> dialling = begun(() -> ports().dial(agent, id, PORT));
        await().until(() -> waitingOnes().size() == 2);
        host.service.keys().revoke(host.admin, made.id());
        waitingOnes().forEach(asked -> decide(asked, true, null));
        isRefused(opening, ErrorCode.UNAUTHENTICATED);
        isRefused(dialling, ErrorCode.UNAUTHENTICATED);
        assertThat(ports().list(host.admin, id)).isEmpty();
        assertThat(host.agent(id).ports().open()).isZero();
        Caller good = caller(Role.AGENT); // control
        FutureTask<PortJson> control =
                begun(() -> ports().open(good, id, new PortRequest(PORT, null)));
        decide(waiting(), true, null);
        assertThat(control.get(20, TimeUnit.SECONDS).port()).isEqualTo(PORT);
        assertThat(first.requestedBy()).isEqualTo(made.id());
    }

    @Test
    void whatNobodyWaitsForAnyMoreIsNotAsked() throws Exception {
        policy(List.of(ASK), false);
        Caller agent = caller(Role.AGENT);
        FutureTask<PortJson> opening =
                new FutureTask<>(() -> ports().open(agent, id, new PortRequest(PORT, null)));
        Thread asker = Thread.ofVirtual().start(opening);
        ApprovalJson asked = waiting();
        asker.interrupt();
        isRefused(opening, ErrorCode.POLICY_DENIED);
        assertThat(host.service.approvals().find(host.admin, asked.id()).state())
                .isEqualTo("withdrawn");
    }
}
