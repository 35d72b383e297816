package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A store whose disk can be full for a while. */
final class GatedStore implements Store {
    private final Store store;
    private final AtomicInteger refused = new AtomicInteger();
    private volatile boolean full;

    GatedStore(Store store) {
        this.store = store;
    }

    /** Refuses all writes from now on, or none. */
    void full(boolean now) {
        full = now;
    }

    /** How many writes were refused. */
    int refused() {
        return refused.get();
    }

    private void check(boolean write) {
        if (write && full) {
            refused.incrementAndGet();
            throw CaissonException.of(ErrorCode.HOST_DISK_FULL, "The disk is full.");
        }
    }

    @Override
    public String node() {
        return store.node();
    }

    @Override
    public long epoch() {
        return store.epoch();
    }

    @Override
    public String engine() {
        return store.engine();
    }

    @Override
    public <T> T write(Work<T> work) {
        check(true);
        return store.write(work);
    }

    @Override
    public <T> CompletableFuture<T> submit(Work<T> work) {
        try {
            check(true);
        } catch (CaissonException e) {
            return CompletableFuture.failedFuture(e);
        }
        return store.submit(work);
    }

    @Override
    public <T> T read(Work<T> work) {
        return store.read(work);
    }

    @Override
    public void backup(Path target) {
        store.backup(target);
    }

    @Override
    public void check() {
        check(true);
    }

    @Override
    public void close() {
        store.close();
    }
}
