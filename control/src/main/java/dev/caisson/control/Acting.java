package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import java.time.Duration;
import java.util.Map;

/** Admins and operators of the home tenant act for other tenants, who see it. Thread-safe. */
final class Acting {
    private final Ledger ledger;
    private final Directory directory;
    private final Throttle told;

    Acting(Ledger ledger, Directory directory) {
        this.ledger = ledger;
        this.directory = directory;
        this.told = new Throttle(ledger::now, Duration.ofMinutes(1));
    }

    /**
     * The caller as one of that tenant; an event of the tenant, once for each key and minute.
     *
     * @param tenant id or name; the caller's own changes nothing
     *     <p>For a tenant that was deleted, by its id, one who reads what was kept of it.
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED} for who does not run the service,
     *     {@link ErrorCode#NOT_FOUND}
     */
    Caller actFor(Caller caller, String tenant) {
        if (tenant.equals(caller.tenant())) {
            return caller;
        }
        if (!directory.runsService(caller) || caller.actingFor()) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED, "This key may not act for another tenant.")
                    .withRemedy("Leave the header Caisson-Tenant out.");
        }
        Row row =
                ledger.read(tx -> Rows.find(tx, Kind.TENANT, Directory.ALL, tenant))
                        .filter(found -> !found.state().equals(Directory.DELETING))
                        .orElseThrow(() -> Rows.missing(Kind.TENANT, tenant));
        if (row.id().equals(caller.tenant())) {
            return caller;
        }
        tell(caller, row.id());
        boolean readOnly = row.state().equals(Directory.DELETED);
        return as(caller, row.id(), readOnly ? Role.AUDITOR : caller.role());
    }

    private void tell(Caller caller, String tenant) {
        String key = caller.keyId() + "/" + tenant;
        if (!told.pass(key)) {
            return;
        }
        boolean written = false;
        try {
            ledger.write(tx -> append(tx, caller, tenant));
            written = true;
        } finally {
            if (!written) {
                told.undo(key);
            }
        }
    }

    private boolean append(Store.Tx tx, Caller caller, String tenant) {
        ledger.event(
                tx,
                caller,
                EventType.OPERATOR_ACTED,
                Ledger.Subject.tenant(tenant),
                caller.role().value(),
                Map.of());
        return true;
    }

    private static Caller as(Caller caller, String tenant, Role role) {
        return new Caller(
                tenant,
                caller.keyId(),
                caller.subject(),
                role,
                caller.scopes(),
                caller.policy(),
                true,
                caller.claimed(),
                caller.traceId(),
                caller.proof());
    }
}
