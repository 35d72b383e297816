package dev.caisson.core;

/**
 * An exec that an agent told of when a client attached.
 *
 * @param exec id
 * @param stream its number on the data channel
 * @param ended whether it has ended; its last event is then {@code lastSeq} or on its way
 * @param firstSeq oldest event that is still kept
 * @param lastSeq newest event; {@code firstSeq - 1} when none is kept
 * @param stdinReceived bytes of standard input that were accepted
 */
public record KnownExec(
        String exec, long stream, boolean ended, long firstSeq, long lastSeq, long stdinReceived) {}
