package dev.caisson.conformance;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import tools.jackson.databind.JsonNode;

/** Clients that do a little of everything and write down what they were told. */
final class ServiceLoad {
    private static final int CLIENTS = 4;
    private static final int MOST = 8;

    /** Refusals of a service that is going away or coming back; nothing was done. */
    private static final Set<Integer> AWAY = Set.of(502, 503, 504);

    private static final AtomicLong TAGS = new AtomicLong();

    private final Api api;
    private final Acknowledged told;
    private final long seed;
    private final AtomicBoolean stop = new AtomicBoolean();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private final boolean goesOn;

    /**
     * @param goesOn whether a client goes on after a request without answer
     */
    private ServiceLoad(Api api, Acknowledged told, long seed, boolean goesOn) {
        this.api = api;
        this.told = told;
        this.seed = seed;
        this.goesOn = goesOn;
    }

    static ServiceLoad start(Api api, Acknowledged told, long seed, boolean goesOn) {
        ServiceLoad load = new ServiceLoad(api, told, seed, goesOn);
        for (int i = 0; i < CLIENTS; i++) {
            Random random = new Random(seed * CLIENTS + i);
            load.threads.add(Thread.ofVirtual().start(() -> load.client(random)));
        }
        return load;
    }

    /** Ends it; fails when a client met what may not be. */
    void stop() throws InterruptedException {
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new AssertionError("a client of the load, seed " + seed, failures.peek());
        }
    }

    /** A sandbox belongs to one client, so what it says of it comes in order. */
    private void client(Random random) {
        List<String> mine = new ArrayList<>();
        while (!stop.get()) {
            try {
                step(random, mine);
            } catch (Api.Unanswered e) {
                if (!goesOn) {
                    return;
                }
                mine.clear(); // not sure of them any more
            } catch (Away e) {
                LiveService.pause(20);
                mine.clear();
            } catch (RuntimeException | Error e) {
                failures.add(e);
                return;
            }
        }
    }

    private static final class Away extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** The body of a success; an unexpected refusal is a failure. */
    private static JsonNode ok(Api.Answer answer) {
        if (AWAY.contains(answer.status())
                || answer.code().equals("sandbox_ended")
                || answer.code().equals("not_found")) {
            throw new Away();
        }
        return answer.ok();
    }

    private void step(Random random, List<String> mine) {
        int dice = random.nextInt(100);
        if (mine.isEmpty() || (dice < 12 && mine.size() < MOST / CLIENTS)) {
            mine.add(create(random));
            return;
        }
        String sandbox = mine.get(random.nextInt(mine.size()));
        if (dice < 40) {
            shortExec(sandbox);
        } else if (dice < 52) {
            longExec(sandbox);
        } else if (dice < 68) {
            file(sandbox, random);
        } else if (dice < 76) {
            run();
        } else if (dice < 84) {
            delete(sandbox, mine);
        } else if (dice < 95) {
            pause(sandbox, dice % 3 != 0);
        } else {
            label(sandbox);
        }
    }

    private static String tag() {
        return "t" + TAGS.incrementAndGet();
    }

    private String create(Random random) {
        if (random.nextInt(3) == 0) {
            String key = tag() + "-" + seed;
            told.key(key, "");
            Api.Answer answer =
                    api.with("Idempotency-Key", key)
                            .post("/v1/sandboxes", Map.of("labels", Map.of("key", key)));
            if (answer.status() == 503) {
                told.refused(key);
            }
            JsonNode made = ok(answer);
            String id = made.path("id").asString();
            told.fresh(id);
            told.sandbox(id, "running");
            told.key(key, id);
            return id;
        }
        JsonNode made = ok(api.post("/v1/sandboxes", Map.of()));
        String id = made.path("id").asString();
        told.fresh(id);
        told.sandbox(id, "running");
        return id;
    }

    private void shortExec(String sandbox) {
        String tag = tag();
        JsonNode exec =
                ok(
                        api.post(
                                "/v1/sandboxes/" + sandbox + "/execs",
                                Map.of(
                                        "command",
                                        "for i in $(seq 1 50); do echo " + tag + "-$i; done")));
        if (exec.path("result").path("reason").asString().equals("exited")) {
            told.ended(exec.path("id").asString(), sandbox, Acknowledged.lines(tag, 50));
        }
    }

    private void longExec(String sandbox) {
        String tag = tag();
        JsonNode exec =
                ok(
                        api.post(
                                "/v1/sandboxes/" + sandbox + "/execs?mode=detach",
                                Map.of(
                                        "command",
                                        "for i in $(seq 1 3000); do echo "
                                                + tag
                                                + "-$i; [ $((i%300)) = 0 ] && sleep 0.1; done;"
                                                + " true")));
        told.started(exec.path("id").asString(), sandbox, Acknowledged.lines(tag, 3000));
    }

    private void file(String sandbox, Random random) {
        String content = tag().repeat(1 + random.nextInt(3000));
        String path = "f" + random.nextInt(3);
        told.writing(sandbox, path, content);
        ok(
                api.send(
                        "PUT",
                        "/v1/sandboxes/" + sandbox + "/files?path=" + path,
                        content.getBytes(StandardCharsets.UTF_8)));
        told.written(sandbox, path, content);
    }

    private void run() {
        String tag = tag();
        JsonNode run =
                ok(
                        api.post(
                                "/v1/runs?mode=detach",
                                Map.of(
                                        "command",
                                        "sleep 0.3; for i in $(seq 1 20); do echo "
                                                + tag
                                                + "-$i; done")));
        told.run(run.path("id").asString(), Acknowledged.lines(tag, 20));
    }

    private void delete(String sandbox, List<String> mine) {
        told.asked(sandbox, "ended");
        mine.remove(sandbox);
        JsonNode ended = ok(api.delete("/v1/sandboxes/" + sandbox));
        told.sandbox(sandbox, ended.path("state").asString());
    }

    private void pause(String sandbox, boolean memory) {
        if (!memory) {
            told.diskPause(sandbox);
        }
        told.asked(sandbox, "paused");
        ok(api.post("/v1/sandboxes/" + sandbox + "/pause", Map.of("memory", memory)));
        told.sandbox(sandbox, "paused");
        told.asked(sandbox, "running");
        ok(api.post("/v1/sandboxes/" + sandbox + "/resume", Map.of()));
        told.sandbox(sandbox, "running");
    }

    private void label(String sandbox) {
        ok(api.patch("/v1/sandboxes/" + sandbox, Map.of("labels", Map.of("l", tag()))));
    }
}
