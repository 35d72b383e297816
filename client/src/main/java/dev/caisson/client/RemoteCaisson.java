package dev.caisson.client;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventSink;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.HostInfo;
import dev.caisson.api.RunListener;
import dev.caisson.api.RunResult;
import dev.caisson.api.RunSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import dev.caisson.v1.InfoJson;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Caisson on a server. Its sandboxes end when it is closed, and with their lease when this program
 * is gone without that; the lease is extended for as long as it runs.
 */
public final class RemoteCaisson implements Caisson {
    private final ServiceClient client;
    private final Http http;
    private final Duration lease;
    private final @Nullable RemoteEvents events;
    private final AtomicLong number = new AtomicLong();
    private final Map<Long, RemoteSandbox> made = new ConcurrentSkipListMap<>();
    private final Set<String> runs = ConcurrentHashMap.newKeySet();
    private final Thread keeper;
    private volatile boolean closed;

    private RemoteCaisson(RemoteConfig config, EventSink events) {
        this.client = ServiceClient.open(config);
        this.http = client.http();
        this.lease = config.lease();
        this.events = events.equals(EventSink.NONE) ? null : new RemoteEvents(client, events);
        this.keeper = http.start("caisson-lease", this::keepLeases);
    }

    /** Opens a server; nothing is sent yet. The caller closes it. */
    public static RemoteCaisson open(RemoteConfig config) {
        return open(config, EventSink.NONE);
    }

    /**
     * Opens a server.
     *
     * @param events told about the sandboxes that are made here, as the server tells it; needs a
     *     key that may read events
     */
    public static RemoteCaisson open(RemoteConfig config, EventSink events) {
        return new RemoteCaisson(config, events);
    }

    /** All the server's nouns, over the same connections; closed with this object. */
    public ServiceClient service() {
        return client;
    }

    @Override
    public Sandbox create(SandboxSpec spec) {
        SandboxJson json = client.sandboxes().create(Requests.sandbox(spec, lease));
        RemoteSandbox sandbox = new RemoteSandbox(http, json, spec);
        made.put(number.incrementAndGet(), sandbox);
        if (closed) {
            sandbox.close();
            throw CaissonException.of(ErrorCode.CANCELLED, "This Caisson was closed.");
        }
        if (events != null) {
            events.follow(json.id());
        }
        return sandbox;
    }

    /**
     * A sandbox that is there already. It is not one of this {@code Caisson}: it goes on when this
     * is closed, and ends when it is closed itself, as every sandbox does.
     *
     * @param id or name
     */
    public Sandbox sandbox(String id) {
        return new RemoteSandbox(http, client.sandboxes().find(id), SandboxSpec.defaults());
    }

    /**
     * A command that was started before, by whomever. It goes on when its caller goes.
     *
     * @param listener told everything from its start
     */
    public Exec attach(String exec, ExecListener listener) {
        return RemoteExec.attach(http, client.execs().find(exec), listener);
    }

    /**
     * Runs a whole life on the server. Files, code and standard input travel in one request: at
     * most 32 MiB of files, and 16 MiB of UTF-8 text for standard input, which is read to its end
     * first.
     */
    @Override
    public RunResult run(RunSpec spec, RunListener listener) {
        return new RemoteRun(client, spec, listener, runs).run();
    }

    @Override
    public List<Sandbox> sandboxes() {
        made.values().removeIf(sandbox -> !living(sandbox));
        return List.copyOf(made.values());
    }

    private static boolean living(RemoteSandbox sandbox) {
        SandboxState state = sandbox.state();
        return state != SandboxState.ENDED && state != SandboxState.LOST;
    }

    @Override
    public HostInfo info() {
        InfoJson info = client.info();
        List<HostInfo.TierInfo> tiers =
                info.tiers().stream()
                        .map(tier ->
                                new HostInfo.TierInfo(
                                        Tier.of(tier.tier()),
                                        tier.available(),
                                        Optional.ofNullable(tier.engine()),
                                        Objects.requireNonNullElse(tier.missing(), ""),
                                        Objects.requireNonNullElse(tier.remedy(), "")))
                        .toList();
        Map<Tier, List<String>> templates =
                tiers.stream()
                        .filter(HostInfo.TierInfo::available)
                        .collect(
                                Collectors.toMap(
                                        HostInfo.TierInfo::tier,
                                        tier -> info.templates(),
                                        (first, second) -> first));
        return new HostInfo(info.version(), info.kernel(), tiers, templates, info.degraded());
    }

    private void keepLeases() {
        try {
            while (!closed) {
                Retry.sleep(lease.dividedBy(3));
                made.values().removeIf(this::lost);
            }
        } catch (CaissonException e) {
            // Interrupted: closed.
        }
    }

    /** Extends a lease; whether there is nothing left to extend. */
    private boolean lost(RemoteSandbox sandbox) {
        try {
            client.sandboxes().extend(sandbox.id(), lease.toMillis());
            return false;
        } catch (CaissonException e) {
            return e.code() == ErrorCode.NOT_FOUND || e.code() == ErrorCode.SANDBOX_ENDED;
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        keeper.interrupt();
        List<Thread> ends =
                made.values().stream()
                        .map(sandbox -> http.start("caisson-close", sandbox::close))
                        .toList();
        runs.forEach(run -> RemoteRun.end(client, run));
        for (Thread end : ends) {
            join(end);
        }
        if (events != null) {
            events.close();
        }
        client.close();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            // What is not deleted by now ends with its lease.
            Thread.currentThread().interrupt();
        }
    }
}
