package dev.caisson.control;

import dev.caisson.api.EndReason;
import dev.caisson.api.EventType;
import dev.caisson.core.EngineSandbox;
import dev.caisson.core.HostedSandbox;
import java.util.Map;
import java.util.Optional;

/** What the engine tells of a sandbox by itself, on one connection. Thread-safe. */
final class EngineWord implements HostedSandbox.HostedListener {
    private final Ledger ledger;
    private final Lives lives;
    private final Box box;
    private final String session;

    EngineWord(Ledger ledger, Lives lives, Box box, String session) {
        this.ledger = ledger;
        this.lives = lives;
        this.box = box;
        this.session = session;
    }

    @Override
    public void ended(EngineSandbox.Ended ended) {
        box.lock.lock();
        try {
            if (ended.reason() == EndReason.LOST) {
                cut();
            } else if (session.equals(box.doc().session) && !isPausedOnDisk()) {
                lives.over(box, ended);
            } // else that session ended on purpose
        } finally {
            box.lock.unlock();
        }
    }

    /** The engine broke off; of a connection that was followed by another that means nothing. */
    private void cut() {
        HostedSandbox lost = box.hostedOrNull();
        if (lost != null && box.isToldTo(this)) {
            lives.cut(box, lost);
        }
    }

    private boolean isPausedOnDisk() {
        return "disk".equals(box.doc().pauseMode) && box.state().equals(SandboxDoc.PAUSED);
    }

    @Override
    public void event(
            EventType type, Optional<String> exec, String reason, Map<String, Object> data) {
        ledger.actSoon(tx -> {
            Ledger.Subject subject = box.doc().subject();
            ledger.event(tx, type, exec.map(subject::withExec).orElse(subject), reason, data);
        });
    }
}
