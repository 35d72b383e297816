package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The way out of sandboxes: what is not allowed here is closed, and an empty document allows
 * nothing. Several documents together allow what each of them allows.
 *
 * @param version of this format; absent: 1
 * @param mode {@code enforce} (default); {@code observe}: what no rule allows is let through and
 *     recorded, but for addresses that no rule names and that are not public; {@code ask}: it waits
 *     for an approval
 * @param allow rules; a destination needs one of them
 * @param deny hosts ({@code name}, {@code *.suffix}) and address ranges that no rule allows
 * @param limits of each sandbox
 * @param secrets names of secrets that may be used
 * @param packages by ecosystem: {@code pypi, npm, maven, debian}
 */
public record EgressJson(
        @Nullable Integer version,
        @Nullable String mode,
        List<EgressRule> allow,
        List<String> deny,
        @Nullable EgressLimits limits,
        List<String> secrets,
        Map<String, PackageRule> packages) {
    /** Copies the collections; absent ones are empty. */
    public EgressJson {
        allow = List.copyOf(Absent.list(allow));
        deny = List.copyOf(Absent.list(deny));
        secrets = List.copyOf(Absent.list(secrets));
        packages = Map.copyOf(Absent.map(packages));
    }

    /** Allows nothing. */
    public static EgressJson closed() {
        return new EgressJson(null, null, List.of(), List.of(), null, List.of(), Map.of());
    }

    /** Whether nothing at all can be reached by it. */
    public boolean allowsNothing() {
        return allow.isEmpty() && packages.isEmpty() && (mode == null || mode.equals("enforce"));
    }
}
