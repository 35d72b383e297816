package dev.caisson.policy;

/** What is spoken on a connection. */
public enum Scheme {
    /** HTTP in TLS. */
    HTTPS,
    /** HTTP in the clear. */
    HTTP,
    /** Anything in TLS. */
    TLS,
    /** Anything. */
    TCP
}
