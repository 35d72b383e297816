/** An example: a model that runs code in sandboxes. */
module dev.caisson.example.agent {
    requires dev.caisson.mcp;
    requires java.net.http;
    requires static transitive org.jspecify;
}
