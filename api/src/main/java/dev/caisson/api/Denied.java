package dev.caisson.api;

/**
 * Something that a policy stopped; of kind {@code unreachable}: that it allows, and that could not
 * be reached.
 *
 * @param kind for example {@code egress}
 * @param target what was wanted
 * @param rule the rule that said no
 * @param remedy what to ask for
 */
public record Denied(String kind, String target, String rule, String remedy) {}
