package dev.caisson.engine.namespaces;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Denied;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.Limits;
import dev.caisson.api.Usage;
import dev.caisson.core.DataLink;
import dev.caisson.core.EgressPlan;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.FrameReader;
import dev.caisson.wire.launcher.Created;
import dev.caisson.wire.launcher.Destroy;
import dev.caisson.wire.launcher.ErrorKind;
import dev.caisson.wire.launcher.Freeze;
import dev.caisson.wire.launcher.Observe;
import dev.caisson.wire.launcher.Observed;
import dev.caisson.wire.launcher.Renew;
import dev.caisson.wire.launcher.Reply;
import dev.caisson.wire.launcher.Request;
import dev.caisson.wire.launcher.Save;
import dev.caisson.wire.launcher.SetLimits;
import dev.caisson.wire.launcher.Thaw;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A sandbox as the launcher holds it. */
final class NamespacesSandbox implements EngineSandbox {
    private final String id;
    private final LauncherConnection launcher;
    private final Outlet outlet;
    private final CompletableFuture<Reply> creation;
    private final CompletableFuture<Ended> end = new CompletableFuture<>();
    private final AtomicReference<@Nullable CompletableFuture<Reply>> destruction =
            new AtomicReference<>();
    private volatile boolean egress;

    /**
     * A sandbox whose creation was asked for.
     *
     * @param creation its answer
     */
    NamespacesSandbox(
            String id,
            LauncherConnection launcher,
            Outlet outlet,
            CompletableFuture<Reply> creation) {
        this.id = id;
        this.launcher = launcher;
        this.outlet = outlet;
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
        return new Ready(created.getDegradedList(), Messages.micros(created.getSetupMicros()));
    }

    @Override
    public DataLink connect(long minEpoch) throws IOException {
        if (end.isDone()) {
            throw CaissonException.of(ErrorCode.SANDBOX_ENDED, "The sandbox " + id + " has ended.");
        }
        // As of now: an answer that says it is not there may be older than its creation.
        boolean created = creation.isDone() && !creation.isCompletedExceptionally();
        SocketChannel channel = launcher.connectData(id, minEpoch);
        return new DataLink(
                channel,
                frame -> {
                    Reply reply = FrameReader.parse(frame, Reply.parser());
                    if (reply.hasError()) {
                        refused(reply, created);
                    }
                });
    }

    /**
     * A connection may overtake the creation that was asked for before it: that is worth another
     * attempt.
     */
    private void refused(Reply reply, boolean created) throws IOException {
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
        renew(lease, Optional.empty());
    }

    @Override
    public void renew(Duration lease, Optional<Duration> maxLife) {
        Renew.Builder renew = Renew.newBuilder().setSandbox(id).setLeaseMillis(lease.toMillis());
        maxLife.ifPresent(life -> renew.setMaxLifeMillis(life.toMillis()));
        ask(
                Request.newBuilder().setRenew(renew),
                "The lease of the sandbox " + id + " was not renewed");
    }

    @Override
    public void freeze() {
        ask(
                Request.newBuilder().setFreeze(Freeze.newBuilder().setSandbox(id)),
                "The sandbox " + id + " was not frozen");
    }

    @Override
    public void thaw() {
        ask(
                Request.newBuilder().setThaw(Thaw.newBuilder().setSandbox(id)),
                "The sandbox " + id + " does not go on");
    }

    @Override
    public void setLimits(Limits limits) {
        ask(
                Request.newBuilder()
                        .setSetLimits(
                                SetLimits.newBuilder()
                                        .setSandbox(id)
                                        .setLimits(Messages.limits(limits))),
                "The limits of the sandbox " + id + " stay as they were");
    }

    /** It has a way out. */
    void opened() {
        egress = true;
    }

    @Override
    public boolean hasEgress() {
        return egress;
    }

    @Override
    public void setEgress(EgressPlan plan) {
        outlet.open().put(id, plan);
        egress = true;
    }

    @Override
    public List<Denied> refusals(Instant since) {
        return egress ? outlet.open().refusals(id, since) : List.of();
    }

    @Override
    public Saved save(String snapshot) {
        Reply reply =
                ask(
                        Request.newBuilder()
                                .setSave(Save.newBuilder().setSandbox(id).setSnapshot(snapshot)),
                        "The disk of the sandbox " + id + " was not saved");
        return new Saved(
                Messages.size(reply.getSaved().getBytes()),
                Messages.micros(reply.getSaved().getHeldMicros()));
    }

    @Override
    public Observation observe() {
        return Messages.observation(observed());
    }

    @Override
    public Usage usage() {
        return Messages.usage(observed().getUsage());
    }

    private Observed observed() {
        return ask(
                        Request.newBuilder().setObserve(Observe.newBuilder().setSandbox(id)),
                        "The sandbox " + id + " cannot be observed")
                .getObserved();
    }

    private Reply ask(Request.Builder request, String otherwise) {
        return LauncherConnection.await(launcher.request(request), otherwise);
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
            end(
                    new Ended(
                            EndReason.DELETED,
                            detail,
                            Messages.usage(reply.getDestroyed().getUsage())));
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

    /** Whether the launcher has answered its creation. */
    boolean isCreated() {
        return creation.isDone();
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
        end(new Ended(reason, ended.getDetail(), Messages.usage(ended.getUsage())));
    }

    @Override
    public CompletableFuture<Ended> onEnd() {
        return end;
    }
}
