package dev.caisson.v1;

/**
 * A terminal.
 *
 * @param rows 1 to 4096
 * @param cols 1 to 4096
 */
public record PtyJson(int rows, int cols) {}
