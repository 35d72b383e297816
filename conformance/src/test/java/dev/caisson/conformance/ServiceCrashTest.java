package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * The server or the launcher is killed at random moments of a load. {@code
 * -Dcaisson.crash.rounds=50} is the long run; {@code -Dcaisson.crash.seed} repeats one.
 */
@Isolated("starts launchers and servers of its own")
@Timeout(value = 40, unit = TimeUnit.MINUTES)
class ServiceCrashTest {
    private static final int ROUNDS = Integer.getInteger("caisson.crash.rounds", 12);
    private static final long SEED = Long.getLong("caisson.crash.seed", System.nanoTime());

    /** States that somebody is at work in. */
    private static final String MOVING = "creating,pausing,resuming,snapshotting,ending";

    private static LiveService.Census warm(LiveService service) {
        Api api = service.admin();
        String id = api.sandbox(Map.of());
        api.sh(id, "true");
        api.delete("/v1/sandboxes/" + id).ok();
        return service.settled();
    }

    private static void assertNothingIsLeft(LiveService service, LiveService.Census before) {
        ServiceTest.deleteAll(service.admin());
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(service.census()).isEqualTo(before));
    }

    /** Keeps the load of the next round from growing with the rounds. */
    static void thin(Api api, Acknowledged told) {
        for (String state : List.of("running", "paused")) {
            for (String id : told.sandboxesIn(state)) {
                api.delete("/v1/sandboxes/" + id).ok();
                told.sandbox(id, "ended");
            }
        }
    }

    @Test
    @DisplayName("L13 C11 the server is killed at random moments: nothing acknowledged is lost")
    void theServerIsKilled() throws Exception {
        try (LiveService service = LiveService.start()) {
            LiveService.Census before = warm(service);
            Acknowledged told = new Acknowledged();
            Random random = new Random(SEED);
            for (int round = 0; round < ROUNDS; round++) {
                ServiceLoad load = ServiceLoad.start(service.admin(), told, SEED + round, false);
                LiveService.pause(100 + random.nextInt(1500));
                service.killServer();
                load.stop();
                service.startServer();
                try {
                    told.verify(service.admin());
                } catch (RuntimeException | AssertionError e) {
                    throw new AssertionError(
                            "round " + round + " of seed " + SEED + "\n" + service.serverLog(), e);
                }
                if (round % 3 == 2) {
                    thin(service.admin(), told);
                }
            }
            assertThat(told.size()).isGreaterThan(ROUNDS * 5);
            assertNothingIsLeft(service, before);
            Acknowledged.verifyAccounts(service.admin());
        }
    }

    @Test
    @DisplayName(
            "the launcher is killed at random moments: sandboxes are told lost, nothing else is")
    void theLauncherIsKilled() throws Exception {
        try (LiveService service = LiveService.start()) {
            Acknowledged told = new Acknowledged();
            Random random = new Random(SEED);
            for (int round = 0; round < ROUNDS; round++) {
                ServiceLoad load = ServiceLoad.start(service.admin(), told, SEED + round, true);
                LiveService.pause(100 + random.nextInt(1000));
                service.killLauncher();
                LiveService.pause(random.nextInt(100));
                load.stop();
                service.startLauncher();
                Api api = service.admin();
                try {
                    awaitSettled(api);
                    told.verifyLost(api);
                    thin(api, told);
                } catch (RuntimeException | AssertionError e) {
                    throw new AssertionError(
                            "round " + round + " of seed " + SEED + "\n" + service.serverLog(), e);
                }
            }
            LiveService.Census before = warm(service);
            String control = service.admin().sandbox(Map.of());
            assertThat(service.settled()).isNotEqualTo(before);
            service.admin().delete("/v1/sandboxes/" + control).ok();
            assertNothingIsLeft(service, before);
            Acknowledged.verifyAccounts(service.admin());
        }
    }

    /** The engine is back, and every sandbox of the former launcher has been looked at. */
    private static void awaitSettled(Api api) {
        await().atMost(Duration.ofSeconds(30))
                .pollInterval(Duration.ofMillis(50))
                .until(() -> {
                    Api.Answer made = api.post("/v1/sandboxes", Map.of());
                    if (made.status() != 201) {
                        return false;
                    }
                    String id = made.json().path("id").asString();
                    boolean works =
                            api.post("/v1/sandboxes/" + id + "/execs", Map.of("command", "true"))
                                            .status()
                                    == 200;
                    api.delete("/v1/sandboxes/" + id).ok();
                    return works;
                });
        awaitNone(api, "running," + MOVING);
    }

    private static void awaitNone(Api api, String states) {
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(
                        () -> assertThat(api.all("/v1/sandboxes?state=" + states)).isEmpty());
    }

    @Test
    @DisplayName("an orderly upgrade of the launcher under load loses nothing")
    void theLauncherIsUpgraded() throws Exception {
        try (LiveService service = LiveService.start()) {
            LiveService.Census before = warm(service);
            Acknowledged told = new Acknowledged();
            for (int round = 0; round < Math.max(2, ROUNDS / 4); round++) {
                ServiceLoad load = ServiceLoad.start(service.admin(), told, SEED + round, true);
                LiveService.pause(1000);
                int resumed = service.resumed();
                LiveService.signal("USR2", service.launcher());
                await().atMost(Duration.ofSeconds(90))
                        .untilAsserted(() ->
                                assertThat(service.resumed())
                                        .as(service::launcherLog)
                                        .isGreaterThan(resumed));
                LiveService.pause(1000);
                load.stop();
                awaitCreate(service.admin());
                // What the gap cut short is settled by the server itself.
                awaitNone(service.admin(), MOVING);
                told.verifyUpgraded(service.admin());
                if (round % 3 == 2) {
                    thin(service.admin(), told);
                }
            }
            assertNothingIsLeft(service, before);
            Acknowledged.verifyAccounts(service.admin());
        }
    }

    private static void awaitCreate(Api api) {
        await().atMost(Duration.ofSeconds(20))
                .until(() -> {
                    Api.Answer made = api.post("/v1/sandboxes", Map.of());
                    if (made.status() == 201) {
                        api.delete("/v1/sandboxes/" + made.json().path("id").asString()).ok();
                    }
                    return made.status() == 201;
                });
    }
}
