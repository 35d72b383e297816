/** Caisson in one process: the API over the engines of this host. */
module dev.caisson.embedded {
    requires transitive dev.caisson.api;
    requires dev.caisson.core;
    requires dev.caisson.engine.namespaces;
    requires dev.caisson.policy;
    requires static transitive org.jspecify;

    exports dev.caisson.embedded;

    provides dev.caisson.api.CaissonProvider with
            dev.caisson.embedded.EmbeddedProvider;
}
