/** The engine of the tier {@code container} over our own launcher. */
module dev.caisson.engine.namespaces {
    requires transitive dev.caisson.core;
    requires dev.caisson.wire;
    requires static transitive org.jspecify;

    exports dev.caisson.engine.namespaces;
}
