package dev.caisson.control;

import java.util.Map;

/** Ends and deletes what a tenant has outside of the rows of this part. */
@FunctionalInterface
interface Eraser {
    /**
     * Ends the sandboxes of a tenant and deletes snapshots, volumes, pools, logs and results of
     * runs, with their rows. Called again after a crash, so what is gone already is no failure.
     *
     * @return how many, by noun in the plural ({@code sandboxes, snapshots, volumes, runs, ...})
     */
    Map<String, Long> erase(String tenant);
}
