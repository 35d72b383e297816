package dev.caisson.egress;

import dev.caisson.policy.Registry;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * A file of a package, as its registry's index tells of it.
 *
 * @param name in the one form of its ecosystem
 * @param version empty: the file is of no version
 * @param hashes hexadecimal by algorithm; empty: the index gives none
 * @param published when, if the index says so
 * @param installed whether fetching it counts as an install: not so for what stands beside a file
 * @param hops how often a server sent the program on to another place
 */
record LearnedFile(
        Registry registry,
        String name,
        String version,
        Map<String, String> hashes,
        Optional<Instant> published,
        boolean installed,
        int hops) {
    LearnedFile {
        hashes = Map.copyOf(hashes);
    }

    /** For people: {@code npm:left-pad@1.3.0}. */
    String subject() {
        return registry.ecosystem() + ":" + name + (version.isEmpty() ? "" : "@" + version);
    }

    /** The same file at another place. */
    LearnedFile moved() {
        return new LearnedFile(registry, name, version, hashes, published, installed, hops + 1);
    }
}
