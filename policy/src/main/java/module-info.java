/**
 * What a policy of the way out says of names, addresses, connections and requests; no input, no
 * output.
 */
module dev.caisson.policy {
    requires transitive dev.caisson.v1;
    requires static transitive org.jspecify;

    exports dev.caisson.policy;
}
