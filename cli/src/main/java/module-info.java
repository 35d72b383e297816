/** The command line of Caisson: a thin user of its API. */
module dev.caisson.cli {
    requires static org.jspecify;
    requires dev.caisson.api;
    requires dev.caisson.serve;
    requires info.picocli;
    requires tools.jackson.core;

    opens dev.caisson.cli to
            info.picocli;
}
