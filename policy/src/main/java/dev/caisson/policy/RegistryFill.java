package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.PackageRule;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Puts the addresses of registries into documents that name none. */
public final class RegistryFill {
    private RegistryFill() {}

    /**
     * The documents with an address for each ecosystem that has rules in them. An address that one
     * document names holds for all of them, so that none is put beside it.
     *
     * @param addresses by ecosystem; an ecosystem without one stays as it is, and its packages
     *     cannot be reached
     */
    public static List<EgressJson> fill(List<EgressJson> layers, Map<String, String> addresses) {
        Map<String, String> missing = new LinkedHashMap<>(addresses);
        for (EgressJson layer : layers) {
            layer.packages()
                    .forEach((ecosystem, rule) -> {
                        if (rule.registry() != null) {
                            missing.remove(ecosystem);
                        }
                    });
        }
        return layers.stream().map(layer -> fill(layer, missing)).toList();
    }

    /** Whether some document needs an address that it does not have. */
    public static boolean needed(List<EgressJson> layers) {
        return layers.stream()
                .flatMap(layer -> layer.packages().values().stream())
                .anyMatch(rule -> rule.registry() == null);
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
