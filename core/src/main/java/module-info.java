/**
 * Domain, engine interface, agent client and run orchestration; knows no engine, no HTTP and no
 * database.
 */
module dev.caisson.core {
    requires transitive dev.caisson.api;
    requires transitive dev.caisson.redact;
    requires dev.caisson.wire;
    requires static transitive org.jspecify;

    exports dev.caisson.core;
}
