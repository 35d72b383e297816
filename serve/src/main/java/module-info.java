/** Puts the service together: store, engines, control, HTTP. */
module dev.caisson.serve {
    requires transitive dev.caisson.control;
    requires dev.caisson.policy;
    requires dev.caisson.server;
    requires dev.caisson.store;
    requires dev.caisson.engine.namespaces;
    requires dev.caisson.mcp;
    requires ch.qos.logback.classic;
    requires ch.qos.logback.core;
    requires io.opentelemetry.api;
    requires io.opentelemetry.context;
    requires io.opentelemetry.exporter.otlp;
    requires io.opentelemetry.sdk.common;
    requires io.opentelemetry.sdk.trace;
    requires org.apache.commons.compress;
    requires org.slf4j;
    requires tools.jackson.dataformat.yaml;
    requires static org.jspecify;

    exports dev.caisson.serve;

    provides ch.qos.logback.classic.spi.Configurator with
            dev.caisson.serve.LogSetting;
}
