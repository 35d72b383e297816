package dev.caisson.egress;

import dev.caisson.policy.Registry;
import java.net.URI;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What an index of a package is read for: the files of allowed versions are learned, the others do
 * not appear. One thread.
 *
 * @param base address of the index, against which links are read
 * @param name of the package, in its one form
 */
record PackageIndex(
        Registry registry,
        URI base,
        String name,
        PackageRules rules,
        LearnedFiles learned,
        Instant now) {
    /** Verdicts of versions, so that an index with many files of each is judged once a version. */
    static final class Versions {
        private final PackageIndex index;
        private final Map<String, Boolean> allowed = new HashMap<>();

        Versions(PackageIndex index) {
            this.index = index;
        }

        boolean allows(String version, Optional<Instant> published) {
            return allowed.computeIfAbsent(
                    version + " " + published.map(Instant::toString).orElse(""),
                    key ->
                            index.rules
                                    .version(index.name, version, published, index.now)
                                    .isEmpty());
        }
    }

    /** Whether the index may show a file, which is learned then. */
    boolean takes(Versions versions, String link, LearnedFile file) {
        if (file.version().isEmpty()
                || !versions.allows(file.version(), file.published())
                || rules.pinnedOtherwise(name, file.version(), file.hashes())) {
            return false;
        }
        Optional<FileAddress> at = FileAddress.link(registry, base, link);
        at.ifPresent(address -> learned.learn(address, file));
        return at.isPresent();
    }

    /** A time as indexes write it; empty when it is none. */
    static Optional<Instant> time(String text) {
        try {
            return Optional.of(OffsetDateTime.parse(text).toInstant());
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }
}
