package dev.caisson.engine.namespaces;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Usage;
import dev.caisson.core.DataLink;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.FrameReader;
import dev.caisson.wire.launcher.Created;
import dev.caisson.wire.launcher.Destroy;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Observe;
import dev.caisson.wire.launcher.Renew;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.SandboxUsage;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A sandbox as the launcher holds it. */
final class NamespacesSandbox implements EngineSandbox {
    private final String id;
    private final LauncherConnection launcher;
    private final CompletableFuture<Reply> creation;
    private final CompletableFuture<Ended> end = new CompletableFuture<>();
    private final AtomicReference<@Nullable CompletableFuture<Reply>> destruction =
            new AtomicReference<>();

    /**
     * A sandbox whose creation was asked for.
     *
     * @param creation its answer
     */
    NamespacesSandbox(String id, LauncherConnection launcher, CompletableFuture<Reply> creation) {
        this.id = id;
        this.launcher = launcher;
        this.creation = creation;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Ready awaitCreated() {
        Reply reply = LauncherConnection.await(creation, "The sandbox " + id + " was not created");
        Created created = reply.getCreated();
        if (!created.getSandbox().equals(id)) {
            throw CaissonException.of(
                    ErrorCode.ENGINE_FAILED,
                    "The launcher created another sandbox than " + id + ".");
        }
        return new Ready(created.getDegradedList(), micros(created.getSetupMicros()));
    }

    @Override
    public DataLink connect(long minEpoch) throws IOException {
        if (end.isDone()) {
            throw CaissonException.of(ErrorCode.SANDBOX_ENDED, "The sandbox " + id + " has ended.");
        }
        SocketChannel channel = launcher.connectData(id, minEpoch);
        return new DataLink(
                channel,
                frame -> {
                    Reply reply = FrameReader.parse(frame, Reply.parser());
                    if (reply.hasError()) {
                        refused(reply);
                    }
                });
    }

    /**
     * A connection may overtake the creation that was asked for before it: that is worth another
     * attempt.
     */
    private void refused(Reply reply) throws IOException {
        boolean created = creation.isDone() && !creation.isCompletedExceptionally();
        if (reply.getError().getKind() == ErrorKind.ERROR_NOT_FOUND && !created) {
            throw new IOException("The sandbox " + id + " is not there yet.");
        }
        CaissonException cause =
                LauncherErrors.exception(reply.getError(), "No connection to the sandbox " + id);
        throw cause.code() == ErrorCode.NOT_FOUND
                ? CaissonException.of(
                        ErrorCode.SANDBOX_ENDED, "The sandbox " + id + " has ended.", cause)
                : cause;
    }

    @Override
    public void renew(Duration lease) {
        LauncherConnection.await(
                launcher.request(
                        Request.newBuilder()
                                .setRenew(
                                        Renew.newBuilder()
                                                .setSandbox(id)
                                                .setLeaseMillis(lease.toMillis()))),
                "The lease of the sandbox " + id + " was not renewed");
    }

    @Override
    public Usage usage() {
        Reply reply =
                LauncherConnection.await(
                        launcher.request(
                                Request.newBuilder()
                                        .setObserve(Observe.newBuilder().setSandbox(id))),
                        "The sandbox " + id + " cannot be observed");
        return usage(reply.getObserved().getUsage());
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // its callback tells the end
    public Ended destroy() {
        if (!end.isDone()) {
            CompletableFuture<Reply> mine = new CompletableFuture<>();
            if (destruction.compareAndSet(null, mine)) {
                launcher.request(
                                Request.newBuilder()
                                        .setDestroy(Destroy.newBuilder().setSandbox(id)))
                        .whenComplete(this::destroyed);
            }
        }
        return end.join();
    }

    private void destroyed(@Nullable Reply reply, @Nullable Throwable failure) {
        if (reply != null && reply.hasDestroyed()) {
            String detail =
                    reply.getDestroyed().getStuck()
                            ? "A process did not die in time; what it holds is quarantined."
                            : "";
            end(new Ended(EndReason.DELETED, detail, usage(reply.getDestroyed().getUsage())));
        } else if (reply != null && reply.getError().getKind() == ErrorKind.ERROR_NOT_FOUND) {
            end(new Ended(EndReason.DELETED, "It was gone already.", Usage.NONE));
        } else {
            String detail =
                    failure == null && reply != null
                            ? reply.getError().getMessage()
                            : String.valueOf(failure);
            end(new Ended(EndReason.LOST, detail, Usage.NONE));
        }
    }

    /** It is gone, for whatever reason; the first one counts. */
    void end(Ended ended) {
        end.complete(ended);
    }

    void ended(dev.caisson.wire.launcher.Ended ended) {
        EndReason reason =
                switch (ended.getReason()) {
                    case END_DELETED -> EndReason.DELETED;
                    case END_OWNER_GONE -> EndReason.OWNER_GONE;
                    case END_LEASE -> EndReason.IDLE;
                    case END_MAX_LIFE -> EndReason.MAX_LIFE;
                    case END_ENGINE_FAILED -> EndReason.ENGINE_FAILED;
                    case END_UNKNOWN, UNRECOGNIZED -> EndReason.LOST;
                };
        end(new Ended(reason, ended.getDetail(), usage(ended.getUsage())));
    }

    @Override
    public CompletableFuture<Ended> onEnd() {
        return end;
    }

    private static Usage usage(SandboxUsage usage) {
        return new Usage(
                micros(usage.getWallMicros()),
                micros(usage.getCpuMicros()),
                micros(usage.getCpuThrottledMicros()),
                ByteSize.of(Math.max(0, usage.getPeakMemoryBytes())),
                0,
                ByteSize.of(Math.max(0, usage.getDiskBytes())),
                ByteSize.of(0));
    }

    private static Duration micros(long micros) {
        return Duration.ofNanos(Math.clamp(micros, 0, Long.MAX_VALUE / 1000) * 1000);
    }
}
