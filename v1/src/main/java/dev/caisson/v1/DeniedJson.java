package dev.caisson.v1;

/**
 * What the policy stopped.
 *
 * @param kind kind
 * @param target target
 * @param rule rule
 * @param remedy what to do
 */
public record DeniedJson(String kind, String target, String rule, String remedy) {}
