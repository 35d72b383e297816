package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * A launcher, a server and a load generator of one measure, each a process of its own, and folders
 * on the same disk; all ends with it.
 */
final class Service implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(20);
    private static final int CLEANERS = 8;
    private static final AtomicBoolean UNDER_WAY = new AtomicBoolean();

    private final Launcher launcher;
    private final ServerProcess server;
    private final Load load;

    private Service(Launcher launcher, ServerProcess server, Load load) {
        this.launcher = launcher;
        this.server = server;
        this.load = load;
    }

    /** What is done with a service. */
    interface Body {
        void run(Service service);
    }

    /** Starts one, measures, ends it, and reports whether all is as it was before. */
    static void measure(String name, Setting setting, Report report, Body body) {
        List<Path> folders = List.of(setting.work(), Path.of("/run/caisson"));
        Path folder = folder(setting, name);
        if (!UNDER_WAY.getAndSet(true)) {
            // What the first launcher of a host makes once and for all is no leak, nor is what the
            // first one in this process makes for the peers.
            run(setting, folder, first -> first.delete(first.create(1)));
            try (Caisson caisson = Caisson.open();
                    Sandbox sandbox = caisson.create()) {
                Life.execTrue(sandbox);
            }
        }
        Census before = Census.take(folders);
        run(setting, folder, body);
        Duration patience = setting.quick() ? Duration.ofSeconds(5) : Duration.ofSeconds(30);
        List<String> leaks = Leaks.since(before, folders, patience);
        report.row(Leaks.row(name + ".census", leaks, before));
    }

    private static void run(Setting setting, Path folder, Body body) {
        try (Service service = start(setting, folder)) {
            body.run(service);
        } finally {
            Shell.run("rm", "-rf", "--one-file-system", folder.resolve("data").toString());
            Shell.run("sh", "-c", "rm -rf --one-file-system " + folder + "/*");
        }
    }

    static Path folder(Setting setting, String name) {
        try {
            Path folder = Files.createDirectory(setting.work().resolve(name));
            Shell.run("chmod", "711", folder.toString());
            return folder;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Service start(Setting setting, Path folder) {
        ServerProcess.Home home = ServerProcess.Home.ofBuild(setting);
        Launcher launcher = Launcher.start(home.natives(), folder);
        try {
            ServerProcess server =
                    ServerProcess.start(home, launcher.socket(), folder.resolve("data"), List.of());
            return new Service(launcher, server, Load.start(setting.load(), server.api().port()));
        } catch (RuntimeException e) {
            launcher.close();
            throw e;
        }
    }

    Api api() {
        return server.api();
    }

    Load load() {
        return load;
    }

    long serverPid() {
        return server.pid();
    }

    /** What every chain of the load does, for the tenant {@code default}. */
    void plan(List<String> targets, Load.Step... steps) {
        load.plan(api().key(), targets, List.of(steps));
    }

    /** Lives and execs until the server has compiled what is measured. */
    void warmUp(Setting setting) {
        int lives = setting.times(500, 30);
        int execs = setting.times(8000, 200);
        plan(
                List.of(),
                Load.Step.create("none"),
                Load.Step.exec("{id}", "/bin/true"),
                Load.Step.delete("{id}"));
        Outcome.ofStep(load.oneByOne(lives), 2).orThrow("Warming up");
        List<String> targets = create(4);
        plan(targets, Load.Step.exec("{target}", "/bin/true"));
        Outcome.ofStep(load.atOnce(execs, 4), 0).orThrow("Warming up");
        delete(targets);
    }

    /** Fresh sandboxes, one after the other; their ids. */
    List<String> create(int count) {
        plan(List.of(), Load.Step.create("none"));
        List<Load.Chain> chains = load.oneByOne(count);
        Outcome.ofStep(chains, 0).orThrow("Creating sandboxes");
        return ids(chains);
    }

    static List<String> ids(List<Load.Chain> chains) {
        return chains.stream()
                .map(Load.Chain::id)
                .filter(id -> !id.equals("-"))
                .collect(Collectors.toList());
    }

    void delete(List<String> ids) {
        if (ids.isEmpty()) {
            return;
        }
        plan(ids, Load.Step.delete("{target}"));
        Outcome.ofStep(load.atOnce(ids.size(), CLEANERS), 0).orThrow("Deleting sandboxes");
    }

    /** A warm pool, full when this returns; its id. */
    String pool(String name, int size) {
        String pool =
                Api.text(
                        api().post(
                                        "/v1/pools",
                                        "{\"name\":\"" + name + "\",\"size\":" + size + "}"),
                        "id");
        awaitPool(pool);
        return pool;
    }

    /** Waits until a pool is full. */
    void awaitPool(String pool) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        String told = api().get("/v1/pools/" + pool);
        while (Api.number(told, "ready") < Api.number(told, "size")) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("The pool does not become full: " + told);
            }
            Pace.rest(POLL);
            told = api().get("/v1/pools/" + pool);
        }
    }

    @Override
    public void close() {
        load.close();
        server.close();
        launcher.close();
    }
}
