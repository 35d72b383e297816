package dev.caisson.control;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What of this server secrets may be read from; what is not named here is refused.
 *
 * @param folders absolute; files below them
 * @param env variables of the server's environment
 * @param commands argument vectors by name; the program is an absolute path
 */
public record SecretConfig(
        List<Path> folders, Set<String> env, Map<String, List<String>> commands) {

    /** Copies the collections. */
    public SecretConfig {
        folders = folders.stream().map(Path::normalize).toList();
        env = Set.copyOf(env);
        commands =
                commands.entrySet().stream()
                        .collect(
                                Collectors.toUnmodifiableMap(
                                        Map.Entry::getKey, entry -> List.copyOf(entry.getValue())));
    }

    /** Values only. */
    public static SecretConfig none() {
        return new SecretConfig(List.of(), Set.of(), Map.of());
    }
}
