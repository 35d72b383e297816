package dev.caisson.control;

import dev.caisson.api.ByteSize;
import java.util.concurrent.ConcurrentHashMap;

/** What snapshots, volumes and files of runs take of their tenants' disk quotas. Thread-safe. */
final class KeptDisks {
    private final Quotas quotas;
    private final ConcurrentHashMap<String, Quotas.Kept> kept = new ConcurrentHashMap<>();

    KeptDisks(Quotas quotas) {
        this.quotas = quotas;
    }

    /**
     * Counts a new disk.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#QUOTA_EXCEEDED}
     */
    void keep(String id, String tenant, long bytes) {
        kept.put(id, quotas.keep(tenant, ByteSize.of(bytes)));
    }

    /**
     * What it really holds is known now.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#QUOTA_EXCEEDED};
     *     then it counts as before until it is released
     */
    void correct(String id, long bytes) {
        Quotas.Kept known = kept.get(id);
        if (known != null) {
            known.change(ByteSize.of(bytes));
        }
    }

    /** Counts one that is there already. */
    void adopt(String id, String tenant, long bytes) {
        kept.put(id, quotas.adoptKept(tenant, ByteSize.of(bytes)));
    }

    /** It is gone. */
    void release(String id) {
        Quotas.Kept gone = kept.remove(id);
        if (gone != null) {
            gone.release();
        }
    }
}
