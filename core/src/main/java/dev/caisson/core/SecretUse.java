package dev.caisson.core;

/**
 * A secret that a sandbox may use.
 *
 * @param secret id
 * @param placeholder what stands for it inside
 */
public record SecretUse(String secret, String placeholder) {}
