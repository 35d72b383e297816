/**
 * Fakes that speak the protocols of launcher and agent, so that everything above them is tested
 * without root.
 */
module dev.caisson.testkit {
    requires transitive dev.caisson.wire;
    requires static transitive org.jspecify;

    exports dev.caisson.testkit;
}
