package dev.caisson.bench;

/** Takes rows as they come. */
interface Report {
    void row(Row row);
}
