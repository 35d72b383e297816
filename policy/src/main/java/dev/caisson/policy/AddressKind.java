package dev.caisson.policy;

/** What an address is for. Only {@link #PUBLIC} ones are reached without a rule that names them. */
public enum AddressKind {
    /** Of the internet. */
    PUBLIC,
    /** Metadata services of clouds. */
    METADATA,
    /** The host itself, and the unspecified address. */
    LOOPBACK,
    /** RFC 1918, RFC 4193 and the like. */
    PRIVATE,
    /** Carrier-grade NAT (RFC 6598). */
    SHARED,
    /** One link (RFC 3927, RFC 4291). */
    LINK_LOCAL,
    /** Multicast and broadcast. */
    MULTICAST,
    /** All else that is not of the internet: documentation, benchmarks, reserved. */
    RESERVED
}
