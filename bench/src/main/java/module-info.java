/** The benchmark program: a thin user of the API, and its peers. */
module dev.caisson.bench {
    requires static org.jspecify;
    requires dev.caisson.api;
    requires dev.caisson.control;
    requires dev.caisson.redact;
    requires dev.caisson.store;
    requires info.picocli;
    requires jdk.management;
    requires tools.jackson.core;

    opens dev.caisson.bench to
            info.picocli;
}
