package dev.caisson.v1;

import java.time.Instant;

/**
 * A link that lets one browser in to a port.
 *
 * @param url where, once
 * @param expiresAt until when it can be followed
 * @param visitEndsAt until when who followed it is let in
 */
public record PortLinkJson(String url, Instant expiresAt, Instant visitEndsAt) {}
