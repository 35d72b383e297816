/** The client of a Caisson server: the API over its routes, and a typed client of every noun. */
module dev.caisson.client {
    requires transitive dev.caisson.api;
    requires transitive dev.caisson.v1;
    requires java.net.http;
    requires org.apache.commons.compress;
    requires static transitive org.jspecify;

    exports dev.caisson.client;

    // Small forms that only routes have.
    opens dev.caisson.client to
            tools.jackson.databind;

    provides dev.caisson.api.RemoteCaissonProvider with
            dev.caisson.client.RemoteProvider;
}
