/** The public Java API of Caisson: interfaces and records that use JDK types only. */
module dev.caisson.api {
    requires static transitive org.jspecify;

    exports dev.caisson.api;

    uses dev.caisson.api.CaissonProvider;
    uses dev.caisson.api.RemoteCaissonProvider;
}
