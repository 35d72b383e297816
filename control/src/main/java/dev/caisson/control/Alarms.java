package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.EndReason;
import dev.caisson.api.ErrorCode;
import java.time.Duration;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Wakes up when a sandbox is to end, to pause, or to be looked at. Thread-safe. */
final class Alarms {
    private static final Logger LOG = LoggerFactory.getLogger(Alarms.class);
    private static final long RETRY_MILLIS = 1000;
    private static final long LOOK_MILLIS = 1000;

    private final Parts parts;
    private final Lives lives;

    private volatile Lives.Pauser pauser =
            (box, memory, reason) -> {
                throw CaissonException.of(ErrorCode.UNSUPPORTED, "Nothing pauses here.");
            };

    Alarms(Parts parts, Lives lives) {
        this.parts = parts;
        this.lives = lives;
    }

    void onPause(Lives.Pauser newPauser) {
        pauser = newPauser;
    }

    /** Sets the alarm for the next end of the sandbox; under the lock. */
    void schedule(Box box) {
        Instant idle = box.idleAt();
        Instant at = box.doc().end(idle).at();
        Long idleMillis = box.doc().idleTimeoutMillis;
        if (idle == null && idleMillis != null && !box.state().equals(SandboxDoc.PAUSED)) {
            // It is in use: nobody tells when that ends, so it is looked at again.
            Instant look = parts.ledger().now().plusMillis(Math.max(LOOK_MILLIS, idleMillis));
            at = at == null || look.isBefore(at) ? look : at;
        }
        if (at == null || box.doc().over()) {
            box.alarm(null);
            return;
        }
        long millis = Math.max(1, Duration.between(parts.ledger().now(), at).toMillis());
        alarm(box, millis);
    }

    private void alarm(Box box, long millis) {
        box.alarm(parts.later(millis, "caisson-alarm-" + box.id, () -> alarm(box)).orElse(null));
    }

    private void alarm(Box box) {
        box.lock.lock();
        try {
            SandboxDoc.End end = box.doc().end(box.idleAt());
            if (end.at() == null || end.at().isAfter(parts.ledger().now())) {
                schedule(box);
                return;
            }
            boolean pause = box.doc().pauseOnTimeout && !"max_life".equals(end.why());
            if (pause && box.state().equals(SandboxDoc.RUNNING)) {
                pause(box, String.valueOf(end.why()));
            } else {
                lives.end(box, EndReason.of(String.valueOf(end.why())), null);
            }
        } catch (CaissonException e) {
            LOG.atWarn()
                    .addKeyValue("sandbox", box.id)
                    .addKeyValue("cause", e.message())
                    .log("a sandbox whose time was over could not be ended, trying again");
            if (!box.doc().over()) {
                alarm(box, RETRY_MILLIS);
            }
        } finally {
            box.lock.unlock();
        }
    }

    /** With its memory where the tier can, else its disk. */
    private void pause(Box box, String why) {
        try {
            pauser.pause(box, true, why);
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.UNSUPPORTED) {
                throw e;
            }
            pauser.pause(box, false, why);
        }
    }
}
