package dev.caisson.control;

/**
 * What a tenant has used of its hourly quotas in the present hour.
 *
 * @param cpuMillis CPU time
 * @param outputBytes written by execs
 */
record Hour(long cpuMillis, long outputBytes) {
    /** Nothing. */
    static final Hour NONE = new Hour(0, 0);
}
