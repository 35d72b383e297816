package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.control.Caller;
import dev.caisson.control.Control;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What callers of the service get. */
public final class ControlGate {
    private final Control control;
    private final @Nullable String approverKey;

    /**
     * A gate to a service that stays open.
     *
     * @param approverKey the setting of that name: a key by which users of sessions of its tenant
     *     decide approvals; null: nobody decides through a session
     */
    public ControlGate(Control control, @Nullable String approverKey) {
        this.control = control;
        this.approverKey = approverKey;
    }

    /**
     * What a caller gets, who was authenticated and may act for another tenant. A session belongs
     * to one secret and one set of rights: whoever has others opens another one.
     */
    public Gate.Access open(Caller caller) {
        String rights =
                caller.role().value()
                        + "/"
                        + String.join(",", new TreeSet<>(caller.scopes()))
                        + "/"
                        + caller.policy();
        String owner =
                String.join("/", caller.tenant(), caller.keyId(), caller.proof().mark(), rights);
        return new Gate.Access(caller.tenant(), owner, () -> backend(caller));
    }

    /**
     * The backend of a session.
     *
     * @throws CaissonException when the approver's key is not valid any more, or may not decide
     */
    private Backend backend(Caller caller) {
        ControlBackend backend = new ControlBackend(control, caller);
        String key = approverKey;
        if (key == null) {
            return backend;
        }
        Caller approver = control.authenticate(key);
        // The approver's own session, or one of another tenant, decides nothing.
        boolean fits =
                approver.tenant().equals(caller.tenant())
                        && !approver.keyId().equals(caller.keyId());
        return fits ? backend.withApprover(approver) : backend;
    }
}
