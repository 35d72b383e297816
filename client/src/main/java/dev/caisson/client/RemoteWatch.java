package dev.caisson.client;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Watch;
import dev.caisson.api.WatchEvent;
import dev.caisson.api.WatchKind;
import dev.caisson.api.WatchListener;
import dev.caisson.v1.WatchJson;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A folder of a sandbox of a server that is watched, by a thread of its own. */
final class RemoteWatch implements Watch {
    private final Follow<WatchJson> follow;
    private final WatchListener listener;
    private final CompletableFuture<Boolean> ready = new CompletableFuture<>();
    private volatile boolean closed;

    private RemoteWatch(Follow<WatchJson> follow, WatchListener listener) {
        this.follow = follow;
        this.listener = listener;
    }

    /** Returns when it watches. */
    static RemoteWatch open(
            Http http, String sandbox, Follow<WatchJson> follow, WatchListener listener) {
        RemoteWatch watch = new RemoteWatch(follow, listener);
        http.start("caisson-watch-" + sandbox, watch::run);
        try {
            watch.ready.get(http.requestTimeout().toMillis(), TimeUnit.MILLISECONDS);
            return watch;
        } catch (ExecutionException e) {
            watch.close();
            throw e.getCause() instanceof CaissonException failure
                    ? failure
                    : new IllegalStateException(e);
        } catch (TimeoutException e) {
            watch.close();
            throw CaissonException.of(ErrorCode.TIMEOUT, "The watch was not ready in time.", e);
        } catch (InterruptedException e) {
            watch.close();
            Thread.currentThread().interrupt();
            throw Failures.cancelled();
        }
    }

    private void run() {
        try {
            follow.run(this::take, this::broken);
        } catch (CaissonException e) {
            ended(e);
        } catch (RuntimeException e) {
            ended(
                    CaissonException.of(
                            ErrorCode.CANCELLED, "The listener of a watch failed: " + e, e));
        }
    }

    private void ended(CaissonException cause) {
        if (!ready.completeExceptionally(cause) && !closed) {
            listener.ended(cause);
        }
    }

    private void broken() {
        if (ready.isDone() && !closed) {
            listener.overflow();
        }
    }

    private boolean take(WatchJson item) {
        if (closed) {
            return true;
        }
        switch (String.valueOf(item.type())) {
            case "ready" -> ready.complete(true);
            case "overflow" -> listener.overflow();
            case "keepalive" -> {
                // Nothing happened.
            }
            case "error" ->
                    throw CaissonException.of(
                            ErrorCode.SANDBOX_ENDED, "The folder is not watched any more.");
            default ->
                    listener.event(
                            new WatchEvent(
                                    WatchKind.of(item.type()),
                                    Objects.requireNonNullElse(item.path(), ""),
                                    Results.type(item.fileType())));
        }
        return false;
    }

    @Override
    public void close() {
        closed = true;
        follow.stop();
    }
}
