package dev.caisson.egress;

/** What a request asks a registry for. */
sealed interface Asked {
    /** The index of a package. */
    record Index(String name) implements Asked {}

    /**
     * A file of a package.
     *
     * @param version empty: of no version
     * @param installed whether fetching it counts as an install
     */
    record File(String name, String version, boolean installed) implements Asked {}

    /** What belongs to the registry as a whole and names no package, such as signed lists. */
    record Common() implements Asked {}

    /** Nothing that an install needs. */
    record Nothing() implements Asked {}
}
