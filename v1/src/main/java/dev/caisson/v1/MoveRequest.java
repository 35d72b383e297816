package dev.caisson.v1;

/**
 * Renames.
 *
 * @param from path
 * @param to path
 */
public record MoveRequest(String from, String to) {}
