/** Looks at a host: what Caisson needs of it and what is missing. */
module dev.caisson.doctor {
    requires static transitive org.jspecify;

    exports dev.caisson.doctor;
}
