package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Puts the addresses of registries into documents that name none. */
public final class RegistryFill {
    private RegistryFill() {}

    /**
     * The documents with an address for each ecosystem that has rules in them. An address that one
     * document names holds for all of them, so that none is put beside it.
     *
     * @param addresses asked for an ecosystem only when it is needed; an ecosystem without one
     *     stays as it is, and its packages cannot be reached
     */
    public static List<EgressJson> fill(
            List<EgressJson> layers, Function<String, Optional<String>> addresses) {
        Set<String> named = new HashSet<>();
        Set<String> needed = new LinkedHashSet<>();
        for (EgressJson layer : layers) {
            layer.packages()
                    .forEach((ecosystem, rule) ->
                            (rule.registry() == null ? needed : named).add(ecosystem));
        }
        needed.removeAll(named);
        Map<String, String> missing = new LinkedHashMap<>();
        for (String ecosystem : needed) {
            addresses.apply(ecosystem).ifPresent(address -> missing.put(ecosystem, address));
        }
        return layers.stream().map(layer -> fill(layer, missing)).toList();
    }

    private static EgressJson fill(EgressJson layer, Map<String, String> missing) {
        if (layer.packages().keySet().stream().noneMatch(missing::containsKey)) {
            return layer;
        }
        Map<String, PackageRule> packages = new LinkedHashMap<>();
        layer.packages()
                .forEach((ecosystem, rule) ->
                        packages.put(ecosystem, fill(rule, missing.get(ecosystem))));
        return new EgressJson(
                layer.version(),
                layer.mode(),
                layer.allow(),
                layer.deny(),
                layer.limits(),
                layer.secrets(),
                packages);
    }

    private static PackageRule fill(PackageRule rule, @Nullable String address) {
        return address == null
                ? rule
                : new PackageRule(
                        address, rule.allow(), rule.deny(), rule.minAgeMillis(), rule.hashes());
    }
}
