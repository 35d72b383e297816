package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Rules of packages that all documents have, and the addresses that these open. */
final class Registries {
    private final Map<String, List<PackageRule>> rules;
    private final Map<HostName, List<Registry>> byHost;

    /**
     * Takes the documents together.
     *
     * @param standard addresses of an ecosystem where no document names one
     */
    Registries(List<EgressJson> layers, Map<String, List<String>> standard) {
        Map<String, List<PackageRule>> found = new LinkedHashMap<>();
        Map<HostName, List<Registry>> hosts = new LinkedHashMap<>();
        for (String ecosystem : DocumentRules.ECOSYSTEMS) {
            List<PackageRule> all =
                    layers.stream()
                            .filter(layer -> layer.packages().containsKey(ecosystem))
                            .map(layer -> layer.packages().get(ecosystem))
                            .toList();
            if (all.size() == layers.size()) {
                found.put(ecosystem, all);
                for (Registry registry : addresses(ecosystem, all, standard)) {
                    hosts.computeIfAbsent(registry.host(), host -> new ArrayList<>()).add(registry);
                }
            }
        }
        rules = found;
        byHost = hosts;
    }

    /** Two documents that name two addresses allow neither. */
    private static Set<Registry> addresses(
            String ecosystem, List<PackageRule> all, Map<String, List<String>> standard) {
        Set<Registry> named = new LinkedHashSet<>();
        for (PackageRule rule : all) {
            if (rule.registry() != null) {
                named.add(Registry.of(ecosystem, rule.registry()));
            }
        }
        if (named.size() > 1) {
            return Set.of();
        }
        if (named.isEmpty()) {
            for (String url : standard.getOrDefault(ecosystem, List.of())) {
                named.add(Registry.of(ecosystem, url));
            }
        }
        return named;
    }

    List<PackageRule> rules(String ecosystem) {
        return rules.getOrDefault(ecosystem, List.of());
    }

    Set<String> ecosystems() {
        return rules.keySet();
    }

    List<Registry> all() {
        return byHost.values().stream().flatMap(List::stream).toList();
    }

    List<Registry> of(Destination to) {
        return to instanceof Destination.Named named
                ? byHost.getOrDefault(named.host(), List.of())
                : List.of();
    }

    boolean has(HostName host) {
        return byHost.containsKey(host);
    }
}
