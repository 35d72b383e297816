package dev.caisson.control;

import java.util.concurrent.ScheduledExecutorService;

/**
 * What the parts of the service share.
 *
 * @param timers runs short tasks; anything that waits goes to a virtual thread
 */
record Parts(
        ControlConfig config,
        Ledger ledger,
        Vault vault,
        Cursors cursors,
        EngineRack engines,
        Policies policies,
        Quotas quotas,
        KeptDisks disks,
        Approvals approvals,
        Meter meter,
        Boxes boxes,
        ScheduledExecutorService timers) {
    String node() {
        return ledger.store().node();
    }
}
