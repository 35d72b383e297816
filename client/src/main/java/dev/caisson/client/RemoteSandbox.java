package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.api.SandboxFiles;
import dev.caisson.api.SandboxSpec;
import dev.caisson.api.SandboxState;
import dev.caisson.api.Tier;
import dev.caisson.api.Tunnel;
import dev.caisson.api.Usage;
import dev.caisson.api.UserInfo;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;

/** A sandbox of a server. */
final class RemoteSandbox implements Sandbox {
    private static final Duration POLL = Duration.ofSeconds(2);

    private final Http http;
    private final SandboxesClient sandboxes;
    private final SandboxJson made;
    private final SandboxSpec spec;
    private final RemoteFiles files;
    private final CompletableFuture<EndReason> end = new CompletableFuture<>();
    private final AtomicBoolean watched = new AtomicBoolean();
    private final AtomicBoolean closed = new AtomicBoolean();

    RemoteSandbox(Http http, SandboxJson made, SandboxSpec spec) {
        this.http = http;
        this.sandboxes = new SandboxesClient(http);
        this.made = made;
        this.spec = spec;
        this.files = new RemoteFiles(http, made.id());
    }

    @Override
    public String id() {
        return made.id();
    }

    @Override
    public String session() {
        return Objects.requireNonNullElse(made.session(), "");
    }

    @Override
    public SandboxSpec spec() {
        return spec;
    }

    @Override
    public Tier tier() {
        return Tier.of(made.tier());
    }

    @Override
    public String engine() {
        return made.engine();
    }

    @Override
    public SandboxState state() {
        if (end.isDone()) {
            return SandboxState.ENDED;
        }
        try {
            return state(sandboxes.find(id()));
        } catch (CaissonException e) {
            if (e.code() == ErrorCode.NOT_FOUND) {
                end.complete(EndReason.UNKNOWN);
                return SandboxState.ENDED;
            }
            throw e;
        }
    }

    private SandboxState state(SandboxJson now) {
        SandboxState state = SandboxState.of(now.state());
        if (state == SandboxState.ENDED || state == SandboxState.LOST) {
            end.complete(EndReason.of(String.valueOf(now.reason())));
        }
        return state;
    }

    @Override
    public List<String> degraded() {
        return made.degraded();
    }

    @Override
    public Exec start(ExecSpec command, ExecListener listener) {
        return RemoteExec.start(http, id(), command, listener, spec.limits().outputLimit().bytes());
    }

    @Override
    public Exec pipe(ExecSpec command) {
        return RemoteExec.pipe(http, id(), command);
    }

    @Override
    public SandboxFiles files() {
        return files;
    }

    @Override
    public Tunnel dial(int port) {
        return RemoteTunnel.open(http, id(), port);
    }

    @Override
    public UserInfo addUser(String name) {
        return sandboxes.addUser(id(), name);
    }

    @Override
    public void pause() {
        SandboxState now = state();
        if (now != SandboxState.PAUSED && now != SandboxState.PAUSING) {
            sandboxes.pause(id(), new PauseRequest(null));
        }
    }

    @Override
    public void resume() {
        SandboxState now = state();
        if (now == SandboxState.PAUSED || now == SandboxState.PAUSING) {
            sandboxes.resume(id());
        }
    }

    @Override
    public Usage usage() {
        Instant since = Objects.requireNonNullElse(made.startedAt(), made.createdAt());
        Duration wall = Duration.between(since, Instant.now());
        return Results.usage(sandboxes.metrics(id()), wall.isNegative() ? Duration.ZERO : wall);
    }

    /** Asks the server every two seconds, from the first call on. */
    @Override
    public CompletionStage<EndReason> onEnd() {
        if (watched.compareAndSet(false, true)) {
            http.start("caisson-end-" + id(), this::watch);
        }
        return end.minimalCompletionStage();
    }

    private void watch() {
        try {
            while (!end.isDone()) {
                watchOnce();
                Retry.sleep(POLL);
            }
        } catch (CaissonException e) {
            end.complete(EndReason.LOST);
        }
    }

    private void watchOnce() {
        try {
            state();
        } catch (CaissonException e) {
            if (!e.retryable()) {
                throw e;
            }
        }
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true) || end.isDone()) {
            return;
        }
        try {
            state(sandboxes.delete(id()));
            end.complete(EndReason.DELETED);
        } catch (CaissonException e) {
            // It ends with its lease, which nobody extends any more.
            end.complete(EndReason.LOST);
        }
    }
}
