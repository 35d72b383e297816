package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.HostedSandbox;
import dev.caisson.v1.Json;
import dev.caisson.v1.SandboxJson;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A living sandbox of this server, in memory. Its document changes only under its lock, together
 * with its row; what is read without the lock is said so.
 */
final class Box {
    final String id;
    final String tenant;
    final ReentrantLock lock = new ReentrantLock();
    final ConcurrentHashMap<String, RunningExec> execs = new ConcurrentHashMap<>();

    /** Its commands, for those who follow them all. */
    final Begun begun = new Begun();

    final CompletableFuture<SandboxDoc> over = new CompletableFuture<>();

    private volatile Written written; // replaced under the lock
    private @Nullable ScheduledFuture<?> alarm; // guarded by lock
    private int attached; // guarded by lock: how often this server was connected to it
    private volatile @Nullable HostedSandbox hosted;
    private @Nullable Object listener; // guarded by lock: told by hosted
    private volatile Quotas.@Nullable Seat seat;
    private volatile Meter.@Nullable Tracker tracker;
    private volatile Map<String, String> env = Map.of();
    private volatile @Nullable EndReason wanted;

    private final AtomicInteger users = new AtomicInteger();
    private volatile Instant lastUse;

    Box(SandboxDoc doc, long version, Instant now) {
        this.id = doc.id;
        this.tenant = doc.tenant;
        this.written = new Written(doc, version);
        this.lastUse = now;
    }

    /** The document as its row has it, never changed, and the row's version. */
    private record Written(SandboxDoc doc, long version) {}

    /** A copy of the document to change; under the lock. */
    SandboxDoc draft() {
        return Json.read(Json.write(doc()), SandboxDoc.class);
    }

    /** The document as it is; not to be changed. Without the lock it may be replaced meanwhile. */
    SandboxDoc doc() {
        return written.doc();
    }

    long version() {
        return written.version();
    }

    /** How often this server was connected to its session before; under the lock. */
    int attach() {
        return attached++;
    }

    /** Takes over what was written; under the lock. */
    void written(SandboxDoc newDoc, long newVersion) {
        written = new Written(newDoc, newVersion);
    }

    /** Without the lock. */
    String state() {
        return written.doc().state;
    }

    /** Without the lock: commands can be sent. */
    HostedSandbox hosted() {
        HostedSandbox there = hosted;
        if (there == null) {
            throw CaissonException.of(
                    ErrorCode.SANDBOX_ENDED, "The sandbox " + id + " is not running.");
        }
        return there;
    }

    /** Data of an event without secrets of this sandbox. */
    Map<String, Object> redacted(Map<String, Object> data) {
        HostedSandbox in = hosted;
        return in == null ? data : in.redaction().redact(data);
    }

    @Nullable HostedSandbox hostedOrNull() {
        return hosted;
    }

    /** How it is reached from now on; under the lock. */
    void hosted(@Nullable HostedSandbox newHosted, @Nullable Object newListener) {
        hosted = newHosted;
        listener = newListener;
    }

    /** Whether that is who is told of the present connection; under the lock. */
    boolean isToldTo(Object someone) {
        return someone.equals(listener);
    }

    Quotas.@Nullable Seat seat() {
        return seat;
    }

    void seat(Quotas.Seat newSeat) {
        seat = newSeat;
    }

    Meter.@Nullable Tracker tracker() {
        return tracker;
    }

    void tracker(Meter.@Nullable Tracker newTracker) {
        tracker = newTracker;
    }

    Map<String, String> env() {
        return env;
    }

    void env(Map<String, String> newEnv) {
        env = Map.copyOf(newEnv);
    }

    /** Why it is being ended, once somebody wants it. */
    @Nullable EndReason wanted() {
        return wanted;
    }

    void wanted(EndReason reason) {
        if (wanted == null) {
            wanted = reason;
        }
    }

    void alarm(@Nullable ScheduledFuture<?> newAlarm) {
        if (alarm != null) {
            alarm.cancel(false);
        }
        alarm = newAlarm;
    }

    // ---- use

    void begin(Instant now) {
        users.incrementAndGet();
        lastUse = now;
    }

    void end(Instant now) {
        lastUse = now;
        users.decrementAndGet();
    }

    void touch(Instant now) {
        lastUse = now;
    }

    /** When it will count as idle; null: it is in use, or never. */
    @Nullable Instant idleAt() {
        return idleAt(doc());
    }

    private @Nullable Instant idleAt(SandboxDoc doc) {
        Long idle = doc.idleTimeoutMillis;
        if (idle == null || idle == 0 || users.get() > 0 || !execs.isEmpty()) {
            return null;
        }
        return lastUse.plusMillis(idle);
    }

    /** Its form now, of one version. */
    SandboxJson form(String node) {
        Written now = written;
        return now.doc().form(idleAt(now.doc()), node, now.version());
    }

    /**
     * Says that it is over, to one who waited for the lock.
     *
     * @throws CaissonException {@link ErrorCode#SANDBOX_ENDED}
     */
    void mustLive() {
        SandboxDoc doc = doc();
        if (doc.over()) {
            throw CaissonException.of(
                            ErrorCode.SANDBOX_ENDED,
                            "The sandbox " + id + " has ended: " + doc.reason + ".")
                    .withDetail("reason", String.valueOf(doc.reason));
        }
    }
}
