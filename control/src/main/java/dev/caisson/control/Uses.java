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
     *     ErrorCode#INVALID_STATE} while it is paused or on its way, {@link
     *     ErrorCode#POLICY_DENIED} where root is in it and the caller may not have that
     */
    Use of(Caller caller, String sandbox) {
        Box box = parts.boxes().living(caller, sandbox);
        requireRoot(caller, box);
        return use(caller, box);
    }

    /** The same for a visitor of a port, who has no policy and reaches nothing else inside. */
    Use visit(Caller visitor, String sandbox) {
        return use(visitor, parts.boxes().living(visitor, sandbox));
    }

    /** Who may not be root may not use a place where everybody can become it. */
    void requireRoot(Caller caller, Box box) {
        if (!mayUse(caller, box)) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The policy does not allow root, and this sandbox has it.")
                    .withRemedy("Use a sandbox that was created with root: denied.");
        }
    }

    boolean mayUse(Caller caller, Box box) {
        return !box.doc().root || parts.policies().effective(caller, box.doc().policy).root();
    }

    private Use use(Caller caller, Box box) {
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
