/** The egress gateway: the only way out of a sandbox. */
module dev.caisson.egress {
    requires dev.caisson.api;
    requires dev.caisson.policy;
    requires dev.caisson.redact;
    requires dev.caisson.v1;
    requires dev.caisson.wire;
    requires com.fasterxml.jackson.annotation;
    requires com.google.protobuf;
    requires org.bouncycastle.pkix;
    requires org.bouncycastle.provider;
    requires org.dnsjava;
    requires org.eclipse.jetty.http;
    requires org.eclipse.jetty.http2.client;
    requires org.eclipse.jetty.http2.common;
    requires org.eclipse.jetty.http2.server;
    requires org.eclipse.jetty.io;
    requires org.eclipse.jetty.server;
    requires org.eclipse.jetty.util;
    requires org.slf4j;
    requires tools.jackson.core;
    requires tools.jackson.databind;
    requires jdk.net;
    requires static org.jspecify;

    // The answers of token servers.
    opens dev.caisson.egress to
            tools.jackson.databind;
}
