package dev.caisson.control;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** A pool of this server: what is kept ready, and what was given out. Thread-safe. */
final class Pool {
    /** Held while it is resized or deleted, before {@link #doc} and {@link #version}. */
    final ReentrantLock lock = new ReentrantLock();

    volatile PoolDoc doc;
    volatile long version;
    final ConcurrentLinkedDeque<Box> ready = new ConcurrentLinkedDeque<>();
    final AtomicLong claimed = new AtomicLong();
    final AtomicLong missed = new AtomicLong();
    final AtomicBoolean filling = new AtomicBoolean();

    /** Whether somebody looks again after a while. */
    final AtomicBoolean waiting = new AtomicBoolean();

    final Set<String> watched = ConcurrentHashMap.newKeySet();
    volatile boolean closed;

    Pool(PoolDoc doc, long version) {
        this.doc = doc;
        this.version = version;
    }
}
