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
    final CompletableFuture<SandboxDoc> over = new CompletableFuture<>();

    private volatile SandboxDoc doc; // replaced under the lock, never changed
    private volatile long version; // changed under the lock
    private @Nullable ScheduledFuture<?> alarm; // guarded by lock
    private volatile String state;
    private volatile @Nullable HostedSandbox hosted;
    private volatile Quotas.@Nullable Seat seat;
    private volatile Meter.@Nullable Tracker tracker;
    private volatile Map<String, String> env = Map.of();
    private volatile @Nullable EndReason wanted;

    private int attached; // guarded by lock
    private final AtomicInteger users = new AtomicInteger();
    private volatile Instant lastUse;

    Box(SandboxDoc doc, long version, Instant now) {
        this.id = doc.id;
        this.tenant = doc.tenant;
        this.doc = doc;
        this.version = version;
        this.state = doc.state;
        this.lastUse = now;
    }

    /** How often this server has connected to it before; under the lock. */
    int attaching() {
        return attached++;
    }

    /** A copy of the document to change; under the lock. */
    SandboxDoc draft() {
        return Json.read(Json.write(doc), SandboxDoc.class);
    }

    /** The document as it is; not to be changed. Without the lock it may be replaced meanwhile. */
    SandboxDoc doc() {
        return doc;
    }

    long version() {
        return version;
    }

    /** Takes over what was written; under the lock. */
    void written(SandboxDoc newDoc, long newVersion) {
        doc = newDoc;
        version = newVersion;
        state = newDoc.state;
    }

    /** Without the lock. */
    String state() {
        return state;
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

    @Nullable HostedSandbox hostedOrNull() {
        return hosted;
    }

    void hosted(@Nullable HostedSandbox newHosted) {
        hosted = newHosted;
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

    /** When it will count as idle; null: it is in use, or never. Under the lock. */
    @Nullable Instant idleAt() {
        Long idle = doc.idleTimeoutMillis;
        if (idle == null || idle == 0 || users.get() > 0 || !execs.isEmpty()) {
            return null;
        }
        return lastUse.plusMillis(idle);
    }

    /** Its form now; under the lock. */
    SandboxJson form(String node) {
        return doc.form(idleAt(), node, version);
    }
}
