/** Takes secrets out of streams of bytes. */
module dev.caisson.redact {
    requires static transitive org.jspecify;

    exports dev.caisson.redact;
}
