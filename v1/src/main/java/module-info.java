/** The JSON forms of {@code /v1}. */
@SuppressWarnings("module") // The name ends with the version of the API on purpose.
module dev.caisson.v1 {
    requires transitive dev.caisson.api;
    requires transitive tools.jackson.databind;
    requires static transitive org.jspecify;

    exports dev.caisson.v1;

    opens dev.caisson.v1 to
            tools.jackson.databind;
}
