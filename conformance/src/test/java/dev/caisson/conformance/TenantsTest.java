package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Tenants of one service do not exist for one another, and each stays within what it was given. */
@Isolated("starts launchers and servers of its own")
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
class TenantsTest {
    private static final Map<String, String> NOTHING =
            Map.ofEntries(
                    Map.entry("sandbox", "sb00000000000000000000"),
                    Map.entry("exec", "ex00000000000000000000"),
                    Map.entry("run", "rn00000000000000000000"),
                    Map.entry("snapshot", "sn00000000000000000000"),
                    Map.entry("volume", "vo00000000000000000000"),
                    Map.entry("pool", "po00000000000000000000"),
                    Map.entry("policy", "pl00000000000000000000"),
                    Map.entry("approval", "ap00000000000000000000"),
                    Map.entry("webhook", "wh00000000000000000000"),
                    Map.entry("secret", "sc00000000000000000000"),
                    Map.entry("key", "00000000"),
                    Map.entry("port", "8080"),
                    Map.entry("path", "x"));
    private static final Set<String> AGENT_WRITES =
            Set.of("runs", "sandboxes", "execs", "files", "ports", "snapshots", "volumes");
    private static final Set<String> AGENT_READS =
            Set.of(
                    "runs",
                    "sandboxes",
                    "execs",
                    "files",
                    "ports",
                    "snapshots",
                    "volumes",
                    "logs",
                    "usage",
                    "templates",
                    "pools",
                    "policies",
                    "approvals",
                    "info");
    private static final Set<String> AUDITOR_READS =
            Set.of(
                    "events",
                    "usage",
                    "logs",
                    "approvals",
                    "policies",
                    "secrets",
                    "audit",
                    "tenants",
                    "info");

    private static final AtomicInteger NAMES = new AtomicInteger();

    /** Bodies that pass the first look, by the end of the path. */
    private static final Map<String, Object> BODIES =
            Map.ofEntries(
                    Map.entry("/extend", Map.of("timeoutMillis", 60_000)),
                    Map.entry("/users", Map.of("name", "mallory")),
                    Map.entry("/execs", Map.of("command", "true")),
                    Map.entry("/signal", Map.of("signal", 9)),
                    Map.entry("/resize", Map.of("rows", 10, "cols", 10)),
                    Map.entry("/ports", Map.of("port", 8080)),
                    Map.entry("/move", Map.of("from", "/work/f", "to", "/work/g")),
                    Map.entry("/links", Map.of("path", "/work/f")),
                    Map.entry("/decide", Map.of("approve", true)),
                    Map.entry("/replay", Map.of("afterSeq", 0)),
                    Map.entry("/rotate", Map.of()),
                    Map.entry("{pool}", Map.of("size", 0)),
                    Map.entry("{webhook}", Map.of("state", "active")),
                    Map.entry("{tenant}", Map.of("labels", Map.of("a", "b"))));

    private static LiveService service;
    private static Api home;

    @BeforeAll
    static void start() {
        service = LiveService.start();
        home = service.admin();
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
    }

    private record Tenant(String id, Api admin) {
        Api key(String role, String... scopes) {
            JsonNode key =
                    admin.post("/v1/keys", Map.of("role", role, "scopes", List.of(scopes))).ok(201);
            return service.api(key.path("key").asString());
        }
    }

    private static Tenant tenant(Map<String, ?> quotas) {
        String name = "tenant-" + NAMES.incrementAndGet();
        String id =
                home.post("/v1/tenants", Map.of("name", name, "quotas", quotas))
                        .ok(201)
                        .path("id")
                        .asString();
        JsonNode key =
                home.with("Caisson-Tenant", id).post("/v1/keys", Map.of("role", "admin")).ok(201);
        return new Tenant(id, service.api(key.path("key").asString()));
    }

    // ---- another's

    private record Route(String method, String path, String scope, boolean socket) {}

    private static List<Route> routes() {
        List<Route> routes = new ArrayList<>();
        JsonNode paths = home.get("/v1/openapi.json").ok().path("paths");
        paths.propertyNames()
                .forEach(path ->
                        paths.path(path)
                                .propertyNames()
                                .forEach(method ->
                                        routes.add(
                                                new Route(
                                                        method.toUpperCase(java.util.Locale.ROOT),
                                                        path,
                                                        paths.path(path)
                                                                .path(method)
                                                                .path("x-caisson-scope")
                                                                .asString(""),
                                                        paths.path(path)
                                                                .path(method)
                                                                .path("responses")
                                                                .has("101")))));
        return routes;
    }

    /** One with a file in it, at the path that is asked for everywhere. */
    private static String volume(Api api) {
        String volume = id(api.post("/v1/volumes", Map.of("name", "vol", "diskBytes", 16 << 20)));
        api.send("PUT", "/v1/volumes/" + volume + "/files?path=/work/f", new byte[] {'x'}).ok();
        return volume;
    }

    private static String webhook(Api api) {
        return id(
                api.post(
                        "/v1/webhooks",
                        Map.of("url", "https://example.com/", "types", List.of("sandbox.ended"))));
    }

    private static String secret(Api api) {
        return id(
                api.post(
                        "/v1/secrets",
                        Map.of(
                                "name",
                                "theirs",
                                "source",
                                Map.of("value", "a-value-of-theirs"),
                                "spec",
                                Map.of(
                                        "bindings",
                                        List.of(
                                                Map.of(
                                                        "host",
                                                        "example.com",
                                                        "slot",
                                                        Map.of("kind", "header")))))));
    }

    /** Something of every kind that has an id, by the name of the parameter. */
    private static Map<String, String> things(Tenant of) {
        Api api = of.admin();
        String sandbox = api.sandbox(Map.of("name", "theirs"));
        api.sh(sandbox, "echo secret > /work/f");
        String exec =
                id(
                        api.post(
                                "/v1/sandboxes/" + sandbox + "/execs?mode=detach",
                                Map.of("command", "sleep 100", "stdin", true)));
        String run = id(api.post("/v1/runs", Map.of("command", "echo secret > out.txt")));
        String snapshot =
                id(api.post("/v1/sandboxes/" + sandbox + "/snapshots", Map.of("name", "saved")));
        String volume = volume(api);
        String pool = id(api.post("/v1/pools", Map.of("name", "warm", "size", 0)));
        String policy =
                id(
                        api.put(
                                "/v1/policies/theirs",
                                Map.of(
                                        "allowDegraded",
                                        true,
                                        "ask",
                                        List.of(
                                                Map.of(
                                                        "kind",
                                                        "exec",
                                                        "commands",
                                                        List.of("ask"))))));
        String asked = api.sandbox(Map.of("policy", "theirs"));
        String approval =
                api.post("/v1/sandboxes/" + asked + "/execs?mode=detach", Map.of("command", "ask"))
                        .ok(202)
                        .path("id")
                        .asString();
        approval = api.get("/v1/execs/" + approval).ok().path("approval").asString();
        String webhook = webhook(api);
        String secret = secret(api);
        String key = id(api.post("/v1/keys", Map.of("role", "agent")));
        return Map.ofEntries(
                Map.entry("sandbox", sandbox),
                Map.entry("exec", exec),
                Map.entry("run", run),
                Map.entry("snapshot", snapshot),
                Map.entry("volume", volume),
                Map.entry("pool", pool),
                Map.entry("policy", policy),
                Map.entry("approval", approval),
                Map.entry("webhook", webhook),
                Map.entry("secret", secret),
                Map.entry("key", key),
                Map.entry("tenant", of.id()),
                Map.entry("port", "8080"),
                Map.entry("path", "out.txt"));
    }

    private static String id(Api.Answer answer) {
        return answer.ok().path("id").asString();
    }

    private static Optional<String> filled(String path, Map<String, String> things) {
        String filled = path;
        for (Map.Entry<String, String> thing : things.entrySet()) {
            filled = filled.replace("{" + thing.getKey() + "}", thing.getValue());
        }
        return filled.contains("{") ? Optional.empty() : Optional.of(filled);
    }

    private static Api.Answer ask(Api api, Route route, String path) {
        String target = path;
        if (path.contains("/files")
                && !path.contains("/runs/")
                && !path.endsWith("/move")
                && !path.endsWith("/links")) {
            target = path + "?path=/work/f";
        }
        if (route.method().equals("GET") || route.method().equals("DELETE")) {
            return api.send(route.method(), target, null);
        }
        if (target.contains("path=") || path.endsWith("/stdin")) {
            return api.send(
                    route.method(),
                    target.equals(path) ? path + "?eof=false" : target,
                    new byte[0]);
        }
        Object body =
                BODIES.entrySet().stream()
                        .filter(entry -> route.path().endsWith(entry.getKey()))
                        .map(Map.Entry::getValue)
                        .findFirst()
                        .orElse(Map.of());
        return api.send(route.method(), target, dev.caisson.v1.Json.bytes(body));
    }

    @Test
    @DisplayName("C01 what is another tenant's does not exist, on every route")
    void whatIsAnothersDoesNotExist() {
        Tenant one = tenant(Map.of());
        Tenant other = tenant(Map.of());
        Map<String, String> theirs = things(one);
        List<String> wrong = new ArrayList<>();
        int asked = 0;
        for (Route route : routes()) {
            Optional<String> path = filled(route.path(), theirs);
            if (!route.path().contains("{") || path.isEmpty()) {
                continue; // lists are looked at below; /audit is not there yet
            }
            asked++;
            Api.Answer answer = ask(other.admin(), route, path.get());
            boolean told =
                    answer.status() == 404
                            // Only those who run the service change tenants: nobody is told which.
                            || (answer.status() == 403 && route.path().contains("{tenant}"))
                            // A policy of that name would be one's own; an id is no name.
                            || (answer.status() == 400
                                    && route.path().equals("/v1/policies/{policy}")
                                    && route.method().equals("PUT"))
                            // No upgrade was asked for.
                            || (route.socket() && answer.status() == 400);
            if (!told) {
                wrong.add(route.method() + " " + path.get() + " " + answer);
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(asked).isGreaterThan(50);
        // Names are no way in either.
        assertThat(other.admin().get("/v1/sandboxes/theirs").status()).isEqualTo(404);
        assertThat(other.admin().post("/v1/sandboxes", Map.of("snapshot", "saved")).status())
                .isEqualTo(404);
        assertListsOfTheOtherAreEmpty(other.admin(), one.id(), theirs);
        assertOwnersFindThem(one.admin(), theirs);
    }

    private static void assertListsOfTheOtherAreEmpty(
            Api other, String tenant, Map<String, String> theirs) {
        for (Route route : routes()) {
            if (!route.method().equals("GET")
                    || route.path().contains("{")
                    || !route.path().startsWith("/v1/")
                    || route.path().contains("openapi")) {
                continue;
            }
            String told = other.get(route.path()).text();
            assertThat(told).as(route.path()).doesNotContain(tenant);
            theirs.forEach((kind, id) -> {
                if (id.length() > 10) {
                    assertThat(told).as(route.path()).doesNotContain(id);
                }
            });
        }
    }

    /** The control: for its owner everything is there, and nothing of it was changed. */
    private static void assertOwnersFindThem(Api owner, Map<String, String> theirs) {
        List<String> wrong = new ArrayList<>();
        for (Route route : routes()) {
            Optional<String> path = filled(route.path(), theirs);
            boolean endless = route.path().endsWith("/watch") || route.path().endsWith("/stream");
            if (!route.method().equals("GET")
                    || !route.path().contains("{")
                    || path.isEmpty()
                    || endless
                    || route.socket()) {
                continue;
            }
            if (route.path().endsWith("/files/archive") || route.path().endsWith("/list")) {
                continue; // of folders
            }
            Api.Answer answer = ask(owner, route, path.get());
            if (answer.status() != 200) {
                wrong.add(route + " " + answer);
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(owner.out(Objects.requireNonNull(theirs.get("sandbox")), "cat /work/f"))
                .isEqualTo("secret\n");
        assertThat(owner.get("/v1/execs/" + theirs.get("exec")).ok().path("state").asString())
                .isEqualTo("running");
        assertThat(
                        owner.get("/v1/approvals/" + theirs.get("approval"))
                                .ok()
                                .path("state")
                                .asString())
                .isEqualTo("waiting");
    }

    // ---- roles

    @Test
    @DisplayName("each role may what its scopes say, on every route")
    void rolesAndScopesHoldOnEveryRoute() {
        Tenant tenant = tenant(Map.of());
        Api agent = tenant.key("agent");
        Api auditor = tenant.key("auditor");
        Api narrow = tenant.key("agent", "files:read", "execs:read");
        List<String> wrong = new ArrayList<>();
        int refused = 0;
        for (Route route : routes()) {
            Optional<String> path = filled(route.path(), NOTHING);
            if (route.scope().isEmpty()
                    || !route.scope().contains(":")
                    || path.isEmpty()
                    || (!route.path().contains("{") && !route.method().equals("GET"))) {
                continue; // what creates is not asked of those who may
            }
            String noun = route.scope().split(":", -1)[0];
            boolean write = route.scope().endsWith(":write");
            boolean agentMay = (write ? AGENT_WRITES : AGENT_READS).contains(noun);
            boolean auditorMay = !write && AUDITOR_READS.contains(noun);
            boolean narrowMay = Set.of("files:read", "execs:read").contains(route.scope());
            refused += check(agent, route, path.get(), agentMay, wrong);
            refused += check(auditor, route, path.get(), auditorMay, wrong);
            refused += check(narrow, route, path.get(), narrowMay, wrong);
        }
        assertThat(wrong).isEmpty();
        assertThat(refused).isGreaterThan(60);
        assertThat(new Api(service.url(), "caisson_" + "0".repeat(40)).get("/v1/info").status())
                .isEqualTo(401);
    }

    private static int check(Api api, Route route, String path, boolean may, List<String> wrong) {
        Api.Answer answer = ask(api, route, path);
        boolean refused = answer.status() == 403;
        if (refused == may) {
            wrong.add((may ? "refused: " : "not refused: ") + route + " " + answer);
        }
        return refused ? 1 : 0;
    }

    @Test
    void noKeyMakesOneThatMayMore() {
        Tenant tenant = tenant(Map.of());
        Api operator = tenant.key("operator");
        assertThat(operator.post("/v1/keys", Map.of("role", "admin")).status()).isEqualTo(403);
        assertThat(tenant.key("agent").post("/v1/keys", Map.of("role", "agent")).status())
                .isEqualTo(403);
        assertThat(operator.post("/v1/keys", Map.of("role", "agent")).status()).isEqualTo(201);
        // Acting for others is for those who run the service.
        Tenant other = tenant(Map.of());
        assertThat(tenant.admin().with("Caisson-Tenant", other.id()).get("/v1/sandboxes").status())
                .isEqualTo(403);
        assertThat(home.with("Caisson-Tenant", other.id()).get("/v1/sandboxes").status())
                .isEqualTo(200);
        assertThat(other.admin().events())
                .anyMatch(event -> event.path("type").asString().equals("operator.acted"));
    }

    // ---- quotas

    private static void assertQuota(Api.Answer answer, String limit) {
        assertThat(answer.status()).as(answer::toString).isEqualTo(429);
        assertThat(answer.code()).isEqualTo("quota_exceeded");
        assertThat(answer.json().path("error").path("details").path("limit").asString())
                .isEqualTo(limit);
        assertThat(answer.headers().firstValue("Retry-After")).isPresent();
    }

    @Test
    void everyQuotaIsRefusedWithItsName() {
        Map<String, Object> small =
                Map.of(
                        "limits",
                        Map.of("memoryBytes", 64 << 20, "diskBytes", 64 << 20, "pids", 32));
        Api two = tenant(Map.of("sandboxes", 2)).admin();
        String first = two.sandbox(small);
        two.sandbox(small);
        assertQuota(two.post("/v1/sandboxes", small), "sandboxes");
        two.delete("/v1/sandboxes/" + first).ok();
        two.sandbox(small); // control: there is room again
        Api perMinute = tenant(Map.of("createsPerMinute", 2)).admin();
        perMinute.delete("/v1/sandboxes/" + perMinute.sandbox(small)).ok();
        perMinute.delete("/v1/sandboxes/" + perMinute.sandbox(small)).ok();
        assertQuota(perMinute.post("/v1/sandboxes", small), "createsPerMinute");
        Api memory = tenant(Map.of("memoryBytes", 100 << 20)).admin();
        memory.sandbox(small);
        assertQuota(memory.post("/v1/sandboxes", small), "memoryBytes");
        Api disk = tenant(Map.of("diskBytes", 100 << 20)).admin();
        String kept = disk.sandbox(small);
        assertQuota(disk.post("/v1/sandboxes", small), "diskBytes");
        assertQuota(
                disk.post("/v1/volumes", Map.of("name", "v", "diskBytes", 64 << 20)), "diskBytes");
        assertThat(disk.get("/v1/sandboxes/" + kept).ok().path("state").asString())
                .isEqualTo("running");
        Api execs = tenant(Map.of("execs", 1)).admin();
        String sandbox = execs.sandbox(small);
        execs.post("/v1/sandboxes/" + sandbox + "/execs?mode=detach", Map.of("command", "sleep 30"))
                .ok(202);
        assertQuota(
                execs.post("/v1/sandboxes/" + sandbox + "/execs", Map.of("command", "true")),
                "execs");
    }

    @Test
    void whatIsUsedUpInAnHourIsRefused() {
        Api output = tenant(Map.of("outputBytesPerHour", 200_000)).admin();
        String loud = output.sandbox(Map.of());
        JsonNode cut = output.sh(loud, "sleep 0.3; yes | head -c 5000000; sleep 20");
        assertThat(cut.path("result").path("reason").asString()).isNotEqualTo("exited");
        assertQuota(
                output.post("/v1/sandboxes/" + loud + "/execs", Map.of("command", "true")),
                "outputBytesPerHour");
        Api cpu = tenant(Map.of("cpuSecondsPerHour", 1)).admin();
        String busy = cpu.sandbox(Map.of());
        JsonNode spin = cpu.sh(busy, "ulimit -t 2; while :; do :; done");
        await().atMost(Duration.ofSeconds(30))
                .pollInterval(Duration.ofMillis(300))
                .untilAsserted(() ->
                        assertThat(
                                        cpu.post(
                                                        "/v1/sandboxes/" + busy + "/execs",
                                                        Map.of("command", "true"))
                                                .status())
                                .as(() -> spin + cpu.get("/v1/usage?by=session").text())
                                .isEqualTo(429));
        assertQuota(
                cpu.post("/v1/sandboxes/" + busy + "/execs", Map.of("command", "true")),
                "cpuSecondsPerHour");
        // Control: neither touches another tenant.
        Api free = tenant(Map.of()).admin();
        assertThat(free.out(free.sandbox(Map.of()), "echo ok")).isEqualTo("ok\n");
    }

    @Test
    void theGroupOfATenantHoldsItsCeilings() {
        Tenant tenant = tenant(Map.of("pids", 40, "memoryBytes", 600 << 20, "cpuMillis", 2000));
        Map<String, Object> form = Map.of("limits", Map.of("pids", 35, "memoryBytes", 128 << 20));
        String one = tenant.admin().sandbox(form);
        Path group = Objects.requireNonNull(HostView.cgroup(one, "pids").getParent());
        assertThat(HostView.number(group.resolve("pids.max"))).isPresent();
        assertThat(HostView.number(group.resolve("pids.max")).get()).isBetween(40L, 80L);
        // Control: a tenant without quotas has no ceiling.
        String free = tenant(Map.of()).admin().sandbox(form);
        assertThat(HostView.number(HostView.cgroup(free, "pids").resolveSibling("pids.max")))
                .isEmpty();
    }

    // ---- the end of a tenant

    @Test
    void aSuspendedTenantDoesNothing() {
        Tenant tenant = tenant(Map.of());
        String id = tenant.admin().sandbox(Map.of());
        home.patch("/v1/tenants/" + tenant.id(), Map.of("state", "suspended")).ok();
        await().atMost(Duration.ofSeconds(5))
                .untilAsserted(() ->
                        assertThat(tenant.admin().post("/v1/sandboxes", Map.of()).status())
                                .isEqualTo(403));
        assertThat(
                        tenant.admin()
                                .post("/v1/sandboxes/" + id + "/execs", Map.of("command", "true"))
                                .status())
                .isEqualTo(403);
        home.patch("/v1/tenants/" + tenant.id(), Map.of("state", "active")).ok();
        await().atMost(Duration.ofSeconds(5))
                .untilAsserted(() ->
                        assertThat(tenant.admin().post("/v1/sandboxes", Map.of()).status())
                                .isEqualTo(201));
    }

    @Test
    void deletionErasesAndReports() {
        Tenant tenant = tenant(Map.of());
        Map<String, String> things = things(tenant);
        Set<Long> processes = HostView.processes(Objects.requireNonNull(things.get("sandbox")));
        assertThat(processes).isNotEmpty();
        JsonNode report = home.delete("/v1/tenants/" + tenant.id()).ok(200);
        assertThat(report.path("erased").path("keys").asLong()).isGreaterThanOrEqualTo(2);
        assertThat(report.path("erased").path("sandboxes").asLong()).isGreaterThanOrEqualTo(2);
        assertThat(report.path("kept").path("events").asLong()).isPositive();
        assertThat(HostView.cgroups(Objects.requireNonNull(things.get("sandbox")))).isEmpty();
        assertThat(tenant.admin().get("/v1/info").status()).isEqualTo(401);
        assertThat(service.state().resolve("snapshots/" + things.get("snapshot") + ".img"))
                .doesNotExist();
        assertThat(service.state().resolve("volumes/" + things.get("volume") + ".img"))
                .doesNotExist();
        assertThat(
                        service.data()
                                .resolve("output/" + Objects.requireNonNull(things.get("sandbox"))))
                .doesNotExist();
        assertThat(service.data().resolve("runs/" + things.get("run"))).doesNotExist();
        // Control: another tenant's output is where it was.
        Api other = tenant(Map.of()).admin();
        String sandbox = other.sandbox(Map.of());
        JsonNode loud = other.sh(sandbox, "seq 1 30000");
        assertThat(loud.path("result").path("stdout").path("totalBytes").asLong())
                .isEqualTo(168_894);
        assertThat(service.data().resolve("output/" + sandbox)).exists();
    }
}
