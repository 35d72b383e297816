/** The service over HTTP: {@code /v1}, its description, ports of sandboxes, metrics. */
module dev.caisson.server {
    requires transitive dev.caisson.control;
    requires org.eclipse.jetty.alpn.server;
    requires org.eclipse.jetty.http;
    requires org.eclipse.jetty.http2.server;
    requires org.eclipse.jetty.io;
    requires org.eclipse.jetty.server;
    requires org.eclipse.jetty.unixdomain.server;
    requires org.eclipse.jetty.util;
    requires org.eclipse.jetty.websocket.api;
    requires org.eclipse.jetty.websocket.server;
    requires org.slf4j;
    requires io.prometheus.metrics.core;
    requires io.prometheus.writer.text;
    requires io.prometheus.metrics.instrumentation.jvm;
    requires io.prometheus.metrics.model;
    requires io.prometheus.metrics.config;
    requires transitive org.jspecify;

    exports dev.caisson.server;

    opens dev.caisson.server to
            tools.jackson.databind;
}
