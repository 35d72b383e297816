package dev.caisson.bench;

/** Something that gives one or more rows. */
interface Measure {
    /** What is given to {@code bench/run} to select it; its rows start with it. */
    String name();

    /** Measures and reports; a row whose peer is missing is reported as skipped. */
    void run(Setting setting, Report report);
}
