package dev.caisson.v1;

import org.jspecify.annotations.Nullable;

/**
 * An opened port.
 *
 * @param port inside
 * @param access who may
 * @param url where
 * @param token for the header, when access is token
 */
public record PortJson(int port, String access, String url, @Nullable String token) {}
