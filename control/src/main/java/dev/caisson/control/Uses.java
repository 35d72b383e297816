package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;

/** Using a living sandbox: found, running (a paused one is resumed where it may be), not idle. */
final class Uses {
    private final Parts parts;
    private final Resumer resumer;

    /** Brings a paused sandbox back. */
    interface Resumer {
        void resume(Box box, Caller caller);
    }

    Uses(Parts parts, Resumer resumer) {
        this.parts = parts;
        this.resumer = resumer;
    }

    /** A use that lasts until it is closed. */
    final class Use implements AutoCloseable {
        private final Box box;

        private Use(Box box) {
            this.box = box;
            box.begin(parts.ledger().now());
        }

        Box box() {
            return box;
        }

        @Override
        public void close() {
            box.end(parts.ledger().now());
        }
    }

    /**
     * A use.
     *
     * @throws CaissonException {@link ErrorCode#NOT_FOUND}, {@link ErrorCode#SANDBOX_ENDED}, {@link
     *     ErrorCode#INVALID_STATE} while it is paused or on its way
     */
    Use of(Caller caller, String sandbox) {
        Box box = parts.boxes().living(caller, sandbox);
        Use use = new Use(box);
        try {
            running(box, caller);
            return use;
        } catch (CaissonException e) {
            use.close();
            throw e;
        }
    }

    private void running(Box box, Caller caller) {
        if (box.state().equals(SandboxDoc.RUNNING)) {
            return;
        }
        box.lock.lock(); // whatever is under way comes to its end first
        try {
            box.mustLive();
            if (box.doc().state.equals(SandboxDoc.PAUSED) && box.doc().autoResume) {
                resumer.resume(box, caller);
            }
            if (!box.doc().state.equals(SandboxDoc.RUNNING)) {
                throw CaissonException.of(
                                ErrorCode.INVALID_STATE,
                                "The sandbox " + box.id + " is " + box.doc().state + ".")
                        .withRemedy("Resume it first, or create it with autoResume.")
                        .withDetail("current", box.doc().state);
            }
        } finally {
            box.lock.unlock();
        }
    }
}
