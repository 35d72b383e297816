package dev.caisson.mcp;

import java.util.List;

/** Versions of the protocol and what differs between them; they compare as texts. */
final class Protocol {
    private static final String FIRST_STRUCTURED = "2025-06-18";
    private static final String FIRST_PRIMED = "2025-11-25";

    /** Newest first. */
    static final List<String> VERSIONS = List.of("2025-11-25", "2025-06-18", "2025-03-26");

    private Protocol() {}

    /** The version of a session: the one that was asked for, else our newest. */
    static String negotiate(String asked) {
        return VERSIONS.contains(asked) ? asked : VERSIONS.getFirst();
    }

    /** Whether results have structured content, and clients may be asked (elicitation). */
    static boolean structured(String version) {
        return version.compareTo(FIRST_STRUCTURED) >= 0;
    }

    /** Whether several messages may come as one array. */
    static boolean batches(String version) {
        return version.compareTo(FIRST_STRUCTURED) < 0;
    }

    /** Whether a stream may begin with an event that has an id only, to resume from. */
    static boolean primed(String version) {
        return version.compareTo(FIRST_PRIMED) >= 0;
    }
}
