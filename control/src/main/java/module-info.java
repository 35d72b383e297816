/** Tenants, policies, quotas, leases, runs, pools, usage: the service without HTTP and SQL. */
module dev.caisson.control {
    requires transitive dev.caisson.core;
    requires transitive dev.caisson.v1;
    requires dev.caisson.policy;
    requires com.nimbusds.jose.jwt;
    requires java.net.http;
    requires org.apache.commons.compress;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.caisson.control;

    opens dev.caisson.control to
            tools.jackson.databind;
}
