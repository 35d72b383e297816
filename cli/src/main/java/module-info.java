/** The command line of Caisson: a thin user of its API. */
module dev.caisson.cli {
    requires static org.jspecify;
    requires dev.caisson.api;
    requires dev.caisson.client;
    requires dev.caisson.doctor;
    requires dev.caisson.mcp;
    requires dev.caisson.policy;
    requires dev.caisson.redact;
    requires dev.caisson.serve;
    requires dev.caisson.v1;
    requires info.picocli;
    requires tools.jackson.core;
    requires tools.jackson.databind;
    requires tools.jackson.dataformat.yaml;

    opens dev.caisson.cli to
            info.picocli,
            tools.jackson.databind;
}
