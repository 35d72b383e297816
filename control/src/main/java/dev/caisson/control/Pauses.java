package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.api.Limits;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.HostedSandbox;
import dev.caisson.core.Ids;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Pausing and resuming: frozen in place with its memory, or its file system only. Thread-safe. */
final class Pauses {
    private static final String MEMORY = "memory";
    private static final String DISK = "disk";

    private final Parts parts;
    private final Lives lives;
    private final Orders orders;

    Pauses(Parts parts, Lives lives, Orders orders) {
        this.parts = parts;
        this.lives = lives;
        this.orders = orders;
    }

    // ---- pausing

    void pause(Box box, boolean memory, String reason, @Nullable Caller caller) {
        box.lock.lock();
        try {
            if (box.doc().state.equals(SandboxDoc.PAUSED)) {
                return;
            }
            mustBe(box, SandboxDoc.RUNNING);
            if (memory) {
                freeze(box, reason, caller);
            } else {
                keepDisk(box, reason, caller);
            }
        } finally {
            box.lock.unlock();
        }
    }

    static void mustBe(Box box, String state) {
        box.mustLive();
        if (!box.doc().state.equals(state)) {
            throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "The sandbox " + box.id + " is " + box.doc().state + ", not " + state)
                    .withDetail("current", box.doc().state);
        }
    }

    private void freeze(Box box, String reason, @Nullable Caller caller) {
        change(box, SandboxDoc.PAUSING);
        try {
            box.hosted().engine().freeze();
        } catch (CaissonException e) {
            change(box, SandboxDoc.RUNNING);
            throw e;
        }
        SandboxDoc paused = box.draft();
        paused(paused, MEMORY);
        try {
            lives.renew(box, paused);
            write(box, paused, EventType.SANDBOX_PAUSED, reason, Map.of("mode", MEMORY), caller);
        } catch (CaissonException e) {
            box.hosted().engine().thaw();
            change(box, SandboxDoc.RUNNING);
            throw e;
        }
    }

    private void keepDisk(Box box, String reason, @Nullable Caller caller) {
        String snapshot = Ids.next(Ids.Kind.SNAPSHOT);
        SandboxDoc pausing = box.draft();
        pausing.state = SandboxDoc.PAUSING;
        pausing.pauseSnapshot = snapshot;
        lives.save(box, pausing, tx -> {});
        HostedSandbox hosted = box.hosted();
        EngineSandbox.Saved saved;
        try {
            saved = hosted.engine().save(snapshot);
        } catch (CaissonException e) {
            SandboxDoc running = box.draft();
            running.state = SandboxDoc.RUNNING;
            running.pauseSnapshot = null;
            lives.save(box, running, tx -> {});
            throw e;
        }
        SandboxDoc paused = box.draft();
        paused(paused, DISK);
        Map<String, Object> data = new HashMap<>();
        data.put("mode", DISK);
        data.put("bytes", saved.bytes().bytes());
        data.put("heldMicros", saved.held().toNanos() / 1000);
        // The disk is safe: the session may end. Its row says so first, so that its end is no
        // surprise.
        write(box, paused, EventType.SANDBOX_PAUSED, reason, data, caller);
        EngineSandbox.@Nullable Ended ended = lives.destroy(box, hosted, EndReason.DELETED);
        Lives.endExecs(box, EndReason.DELETED);
        box.hosted(null, null);
        rest(box);
        Meter.Tracker tracker = box.tracker();
        box.tracker(null);
        if (tracker != null && ended != null) {
            parts.ledger().act(tx -> tracker.ended(tx, ended.usage()));
        } else if (tracker != null) {
            parts.meter().forget(paused.session);
        }
    }

    /** Its saved disk is all that it needs: others of its tenant may have the rest. */
    private static void rest(Box box) {
        Quotas.Seat seat = box.seat();
        if (seat != null) {
            seat.rest();
        }
    }

    private void paused(SandboxDoc doc, String mode) {
        doc.state = SandboxDoc.PAUSED;
        doc.pausedAt = parts.ledger().now();
        doc.pauseMode = mode;
        doc.timeoutAt = null;
    }

    private void change(Box box, String state) {
        SandboxDoc doc = box.draft();
        doc.state = state;
        lives.save(box, doc, tx -> {});
    }

    private void write(
            Box box,
            SandboxDoc doc,
            EventType type,
            String reason,
            Map<String, Object> data,
            @Nullable Caller caller) {
        lives.save(box, doc, tx -> event(tx, doc, type, reason, data, caller));
        lives.schedule(box);
    }

    private void event(
            Store.Tx tx,
            SandboxDoc doc,
            EventType type,
            String reason,
            Map<String, Object> data,
            @Nullable Caller caller) {
        if (caller == null) {
            parts.ledger().event(tx, type, doc.subject(), reason, data);
        } else {
            parts.ledger().event(tx, caller, type, doc.subject(), reason, data);
        }
    }

    // ---- resuming

    void resume(Box box, Caller caller) {
        box.lock.lock();
        try {
            if (box.doc().state.equals(SandboxDoc.RUNNING)) {
                return;
            }
            if (!halfway(box)) {
                mustBe(box, SandboxDoc.PAUSED);
            }
            if (box.hostedOrNull() == null) {
                fromDisk(box, caller);
            } else {
                thaw(box, caller);
            }
        } finally {
            box.lock.unlock();
        }
    }

    /** Nobody is at work on it under its lock: an earlier attempt could not be written. */
    private static boolean halfway(Box box) {
        return box.state().equals(SandboxDoc.PAUSING) || box.state().equals(SandboxDoc.RESUMING);
    }

    private void thaw(Box box, Caller caller) {
        String mode = box.doc().pauseMode;
        String saved = box.doc().pauseSnapshot;
        SandboxDoc running = box.draft();
        running(running);
        running.pauseSnapshot = null;
        lives.renew(box, running);
        if (!box.state().equals(SandboxDoc.RESUMING)) {
            change(box, SandboxDoc.RESUMING);
        }
        try {
            box.hosted().engine().thaw();
        } catch (CaissonException e) {
            change(box, SandboxDoc.PAUSED);
            throw e;
        }
        box.touch(parts.ledger().now());
        Map<String, Object> data = Map.of("mode", mode == null ? MEMORY : mode);
        write(box, running, EventType.SANDBOX_RESUMED, "", data, caller);
        if (saved != null) {
            lives.drop(running, saved);
        }
    }

    private void running(SandboxDoc doc) {
        doc.state = SandboxDoc.RUNNING;
        doc.pausedAt = null;
        doc.pauseMode = null;
        doc.timeoutAt =
                doc.timeoutMillis == null
                        ? null
                        : parts.ledger().now().plusMillis(doc.timeoutMillis);
    }

    private void fromDisk(Box box, Caller caller) {
        Engine engine = orders.engineOf(box.doc());
        Limits limits = Orders.limits(box.doc().limits);
        Quotas.Seat seat = box.seat();
        if (seat != null) {
            seat.change(limits);
        }
        try {
            restart(box, caller, engine, limits);
        } catch (CaissonException e) {
            if (box.hostedOrNull() == null) {
                rest(box);
            }
            throw e;
        }
    }

    private void restart(Box box, Caller caller, Engine engine, Limits limits) {
        String snapshot = String.valueOf(box.doc().pauseSnapshot);
        SandboxDoc resuming = box.draft();
        resuming.state = SandboxDoc.RESUMING;
        resuming.session = Ids.next(Ids.Kind.SESSION);
        lives.save(box, resuming, tx -> {});
        SandboxDoc running = box.draft();
        running(running);
        running.pauseSnapshot = null;
        try {
            lives.restart(box, engine, running, limits, snapshot, orders.mounts(running));
        } catch (CaissonException e) {
            SandboxDoc back = box.draft();
            back.state = SandboxDoc.PAUSED;
            lives.save(box, back, tx -> {});
            throw e;
        }
        running.startedAt = parts.ledger().now();
        write(box, running, EventType.SANDBOX_RESUMED, "", Map.of("mode", DISK), caller);
        lives.drop(running, snapshot);
    }
}
