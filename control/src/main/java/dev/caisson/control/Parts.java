package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
        OutputPace pace,
        Boxes boxes,
        SecretUses secrets,
        Gateways gateways,
        Redactions redactions,
        ScheduledExecutorService timers) {
    private static final Logger LOG = LoggerFactory.getLogger(Parts.class);
    private static final long RETRY_MILLIS = 200;
    private static final long LONGEST_RETRY_MILLIS = 2000;

    String node() {
        return ledger.store().node();
    }

    /** Whether the service is closing. */
    boolean closing() {
        return timers.isShutdown();
    }

    /** Starts something on a virtual thread after a while; not any more once the service closes. */
    Optional<ScheduledFuture<?>> later(long millis, String name, Runnable task) {
        try {
            return Optional.of(
                    timers.schedule(
                            () -> Thread.ofVirtual().name(name).start(task),
                            millis,
                            TimeUnit.MILLISECONDS));
        } catch (RejectedExecutionException e) {
            return Optional.empty();
        }
    }

    /**
     * Does a write until it is done: what is true must be written before it is told.
     *
     * @throws CaissonException {@link ErrorCode#INVALID_STATE} when another server took over, or
     *     this one closes: then nobody may be told here
     */
    void durably(String noun, String id, Runnable write) {
        long wait = RETRY_MILLIS;
        while (true) {
            try {
                write.run();
                return;
            } catch (CaissonException e) {
                LOG.atWarn()
                        .addKeyValue(noun, id)
                        .addKeyValue("cause", e.message())
                        .log("an end cannot be written, trying again");
                if (e.code() == ErrorCode.INVALID_STATE || closing() || !slept(wait)) {
                    throw CaissonException.of(
                            ErrorCode.INVALID_STATE,
                            "This server stopped before the end of " + id + " was written.",
                            e);
                }
                wait = Math.min(2 * wait, LONGEST_RETRY_MILLIS);
            }
        }
    }

    private static boolean slept(long millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
