/** The JSON forms of {@code /v1}. */
@SuppressWarnings("module") // named after the version that it describes
module dev.caisson.v1 {
    requires transitive dev.caisson.api;
    requires transitive tools.jackson.databind;
    requires static transitive org.jspecify;

    exports dev.caisson.v1;

    opens dev.caisson.v1 to
            tools.jackson.databind;
}
