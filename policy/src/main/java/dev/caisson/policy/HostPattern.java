package dev.caisson.policy;

import dev.caisson.api.CaissonException;
import java.util.Set;

/**
 * A host, or all hosts below one.
 *
 * @param name the host, or what they are below
 * @param below {@code *.name}: names below it, not itself
 */
record HostPattern(HostName name, boolean below) {
    /** Names that clouds give their metadata services: reached by a rule for exactly them. */
    private static final Set<String> METADATA =
            Set.of(
                    "metadata",
                    "instance-data",
                    "instance-data.ec2.internal",
                    "metadata.google.internal",
                    "metadata.goog",
                    "metadata.azure.internal",
                    "metadata.azure.com",
                    "metadata.tencentyun.com",
                    "metadata.oraclecloud.com",
                    "metadata.platformequinix.com",
                    "metadata.packet.net");

    static HostPattern of(String field, String text) {
        try {
            return text.startsWith("*.")
                    ? new HostPattern(HostName.of(text.substring(2)), true)
                    : new HostPattern(HostName.of(text), false);
        } catch (CaissonException e) {
            throw Wrong.in(field, e);
        }
    }

    static boolean metadata(HostName name) {
        String value = name.value();
        return METADATA.contains(value)
                || value.startsWith("instance-data.")
                || METADATA.stream()
                        .anyMatch(known -> known.contains(".") && value.endsWith("." + known));
    }

    /** The name one label up, or empty text above one label. */
    static String above(String name) {
        int dot = name.indexOf('.');
        return dot < 0 ? "" : name.substring(dot + 1);
    }

    /** Whether every host of the other is one of this. */
    boolean covers(HostPattern other) {
        return below
                ? other.name.value().endsWith("." + name.value()) || other.equals(this)
                : other.equals(this);
    }

    @Override
    public String toString() {
        return below ? "*." + name : name.value();
    }
}
