package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.cli.CommandLines;
import dev.caisson.cli.CommandLines.Ended;
import dev.caisson.v1.Json;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import tools.jackson.databind.JsonNode;

/** Commands that wait for a person, and the person, by {@code caisson}. */
@Isolated("starts launchers and servers of its own")
@Timeout(60)
@SuppressWarnings("NullAway.Init") // set before each test
class CommandLineApprovalsTest extends CommandLineFixture {
    private ExecutorService threads;

    @BeforeEach
    void open() {
        threads = Executors.newVirtualThreadPerTaskExecutor();
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
    }

    /** An agent whose policy asks about {@code rm}, and its sandbox. */
    private record Agent(String key, String sandbox) {
        static Agent asking(long patienceMillis) {
            String policy = name();
            api.put(
                            "/v1/policies/" + policy,
                            Map.of(
                                    "allowDegraded",
                                    true,
                                    "approvalTimeoutMillis",
                                    patienceMillis,
                                    "ask",
                                    List.of(Map.of("kind", "exec", "commands", List.of("rm")))))
                    .ok();
            String key =
                    api.post("/v1/keys", Map.of("role", "operator")).ok(201).path("key").asString();
            return new Agent(key, service.api(key).sandbox(Map.of("policy", policy)));
        }

        Ended caisson(String... words) {
            return CommandLines.run(env(key), "", words);
        }

        Ended remove(String file) {
            return caisson("exec", sandbox, "--", "rm", "-f", file);
        }
    }

    private CompletableFuture<Ended> removing(Agent agent, String file) {
        return CompletableFuture.supplyAsync(() -> agent.remove(file), threads);
    }

    private static Ended end(CompletableFuture<Ended> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    /** The one approval that waits in a sandbox. */
    private static String waiting(Agent agent) {
        for (int tries = 0; tries < 100; tries++) {
            for (JsonNode one : items("approvals", "ls", "--json")) {
                if (one.path("sandbox").asString("").equals(agent.sandbox())) {
                    return id(one);
                }
            }
            LiveService.pause(100);
        }
        throw new AssertionError("nothing waits");
    }

    @Test
    void whoWatchesSeesItComeAndWhatIsRememberedIsNotAskedAgain() throws Exception {
        Agent agent = Agent.asking(60_000);
        Process watch = start("approvals", "watch");
        try {
            Transcript seen = Transcript.of(watch.getInputStream());
            assertThat(agent.caisson("exec", agent.sandbox(), "--", "true").status())
                    .as("control: not asked about")
                    .isZero();
            CompletableFuture<Ended> first = removing(agent, "one");
            String approval = waiting(agent);
            seen.await(approval + "\twaiting\texec\t" + agent.sandbox());
            assertThat(seen.text()).contains("rm -f one");
            assertThat(first).isNotDone();
            // The asker is not the person.
            refused(agent.caisson("approvals", "approve", approval), "cannot decide");
            assertThat(first).isNotDone();

            assertThat(ok("approvals", "approve", approval, "--remember", "session"))
                    .isEqualTo("approved\n");

            assertThat(end(first).status()).isZero();
            seen.await(approval + "\tapproved\t");
            Ended again = agent.remove("one");
            assertThat(again).isEqualTo(new Ended(0, "", ""));
            assertThat(items("approvals", "ls", "--json")).isEmpty();
            refused(caisson("approvals", "deny", approval), "waiting");

            // Control: something else is asked about, and once is once.
            for (int i = 0; i < 2; i++) {
                CompletableFuture<Ended> other = removing(agent, "two");
                String once = waiting(agent);
                assertThat(json("approvals", "approve", "--json", once).path("remember").asString())
                        .isEqualTo("once");
                assertThat(end(other).status()).isZero();
            }
            assertThat(items("approvals", "ls", "-a", "--json"))
                    .filteredOn(one -> one.path("sandbox").asString("").equals(agent.sandbox()))
                    .hasSize(3);

            LiveService.signal("TERM", watch);
            assertThat(status(watch)).isEqualTo(143);
        } finally {
            watch.destroyForcibly();
        }
    }

    @Test
    void aNoIsToldAndNothingIsRun() throws Exception {
        Agent agent = Agent.asking(60_000);
        ok("exec", agent.sandbox(), "--", "touch", "kept");
        CompletableFuture<Ended> asked = removing(agent, "kept");

        assertThat(ok("approvals", "deny", waiting(agent))).isEqualTo("denied\n");

        Ended no = end(asked);
        assertThat(no.status()).isEqualTo(OWN_ERROR);
        assertThat(no.out()).isEmpty();
        assertThat(no.err().lines().toList().getLast())
                .startsWith("caisson: ")
                .contains("not approved");
        assertThat(ok("exec", agent.sandbox(), "--", "ls")).isEqualTo("kept\n");
    }

    @Test
    void noAnswerIsANo() {
        Agent agent = Agent.asking(2_000);
        ok("exec", agent.sandbox(), "--", "touch", "kept");

        Ended late = agent.remove("kept");

        assertThat(late.status()).as(late::toString).isEqualTo(OWN_ERROR);
        assertThat(late.err())
                .contains("waits for an approval: caisson approvals approve ap")
                .containsIgnoringCase("approv");
        assertThat(late.err().lines().toList().getLast()).startsWith("caisson: ");
        assertThat(ok("exec", agent.sandbox(), "--", "ls")).isEqualTo("kept\n");
        assertThat(ok("approvals", "ls", "--state", "expired")).contains(agent.sandbox());
        refused(
                caisson(
                        "approvals",
                        "approve",
                        id(items("approvals", "ls", "--json", "--state", "expired").getFirst())),
                "expired");
    }

    @Test
    void whatIsAskedMovesNobodysCursor() throws Exception {
        Agent agent = Agent.asking(60_000);
        Process watch = start("approvals", "watch");
        try {
            Transcript seen = Transcript.of(watch.getInputStream());
            CompletableFuture<Ended> asked = removing(agent, "\u001b[2K\u202eevil\nx");
            String approval = waiting(agent);
            seen.await(approval);

            String listed = ok("approvals", "ls");
            assertThat(listed).contains("evil").doesNotContain("\u001b", "\u202e");
            assertThat(listed.lines().filter(line -> line.contains("evil"))).hasSize(1);
            assertThat(seen.text()).contains("evil").doesNotContain("\u001b", "\u202e");
            ok("approvals", "deny", approval);
            end(asked);
        } finally {
            watch.destroyForcibly();
        }
    }

    @Test
    void theStreamOfTheApiTellsWhatWaitsAndWhatChanges() throws Exception {
        Agent agent = Agent.asking(60_000);
        CompletableFuture<Ended> before = removing(agent, "before");
        String first = waiting(agent);
        CompletableFuture<List<JsonNode>> told =
                CompletableFuture.supplyAsync(
                        () ->
                                api.items(
                                        "/v1/approvals?follow=true",
                                        item ->
                                                id(item).equals(first)
                                                        && item.path("state")
                                                                .asString("")
                                                                .equals("approved")),
                        threads);
        LiveService.pause(500);
        assertThat(told).as("control: it goes on").isNotDone();

        ok("approvals", "approve", first);

        List<JsonNode> items = told.get(20, TimeUnit.SECONDS);
        assertThat(items.stream().filter(item -> id(item).equals(first)))
                .extracting(item -> item.path("state").asString())
                .containsExactly("waiting", "approved");
        assertThat(Json.write(items)).contains("rm -f before");
        end(before);
    }
}
