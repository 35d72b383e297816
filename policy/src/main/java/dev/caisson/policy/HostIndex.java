package dev.caisson.policy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Rules by host: found by a look-up of the name and of each name above it. */
final class HostIndex {
    private final Map<String, List<HostRule>> exact = new HashMap<>();
    private final Map<String, List<HostRule>> below = new HashMap<>();

    HostIndex(List<HostRule> rules) {
        for (HostRule rule : rules) {
            (rule.pattern().below() ? below : exact)
                    .computeIfAbsent(rule.pattern().name().value(), name -> new ArrayList<>())
                    .add(rule);
        }
    }

    /** Rules of a host in the order of the document; a metadata service has only its own. */
    List<HostRule> of(HostName host) {
        List<HostRule> found = new ArrayList<>(exact.getOrDefault(host.value(), List.of()));
        if (!below.isEmpty() && !HostPattern.metadata(host)) {
            String name = HostPattern.above(host.value());
            while (!name.isEmpty()) {
                found.addAll(below.getOrDefault(name, List.of()));
                name = HostPattern.above(name);
            }
        }
        if (found.size() > 1) {
            found.sort(Comparator.comparingInt(HostRule::index));
        }
        return found;
    }
}
