package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What may be installed from a registry of packages. Its hosts need no rule of their own; nothing
 * is ever published.
 *
 * @param registry address; absent: what the operator configured, or else what the host's own tool
 *     reports
 * @param allow names, {@code name@version} or {@code prefix*}; empty: any
 * @param deny the same; wins
 * @param minAgeMillis since a version was published
 * @param hashes {@code algorithm:hex} by {@code name@version}: only these bytes
 */
public record PackageRule(
        @Nullable String registry,
        List<String> allow,
        List<String> deny,
        @Nullable Long minAgeMillis,
        Map<String, String> hashes) {
    /** Copies the collections; absent ones are empty. */
    public PackageRule {
        allow = List.copyOf(Absent.list(allow));
        deny = List.copyOf(Absent.list(deny));
        hashes = Map.copyOf(Absent.map(hashes));
    }
}
