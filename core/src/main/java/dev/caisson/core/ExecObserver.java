package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ExecResult;
import dev.caisson.api.Limit;

/** Told the steps, for events; must not block. */
interface ExecObserver {
    default void limitHit(Limit limit) {}

    default void ended(ExecResult result) {}

    default void failed(CaissonException cause) {}

    /** Secrets were taken out of its output; told once, at the end. */
    default void redacted(long count) {}
}
