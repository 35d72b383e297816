package dev.caisson.v1;

/**
 * Something in a policy that is valid and may still not be what was meant.
 *
 * @param level {@code error}: it opens much more than it says; {@code warning}: data may leave by
 *     it, or it does nothing; {@code note}: what remains is worth knowing
 * @param field which part of the document
 * @param message what is the matter
 * @param remedy what to write instead
 */
public record FindingJson(String level, String field, String message, String remedy) {}
