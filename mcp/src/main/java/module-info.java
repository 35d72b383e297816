/** The Model Context Protocol on top of the service, or of the library. */
module dev.caisson.mcp {
    requires transitive dev.caisson.control;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.caisson.mcp;

    opens dev.caisson.mcp to
            tools.jackson.databind;
}
