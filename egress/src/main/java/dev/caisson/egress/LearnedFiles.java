package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.EgressPolicy;
import dev.caisson.policy.HostName;
import dev.caisson.policy.Registry;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The files that registries' indexes named to one sandbox in its life. Their hosts are open for
 * these files only. When there are too many, the ones named first are forgotten. Safe for use by
 * several threads.
 */
final class LearnedFiles {
    static final int MAX = 50_000;
    private static final int MAX_CHARS = 16 << 20;
    private static final int MAX_HOSTS = 256;

    // Guarded by this.
    private final Map<FileAddress, LearnedFile> files = new LinkedHashMap<>();
    private final Map<Destination.Named, Set<Registry>> hosts = new HashMap<>();
    private int chars;

    /** An index named it. */
    synchronized void learn(FileAddress at, LearnedFile file) {
        Set<Registry> from = hosts.get(at.to());
        if (from == null) {
            if (hosts.size() >= MAX_HOSTS) {
                return;
            }
            from = new HashSet<>();
            hosts.put(at.to(), from);
        }
        from.add(file.registry());
        if (files.remove(at) == null) {
            chars += at.target().length();
        }
        files.put(at, file);
        Iterator<FileAddress> oldest = files.keySet().iterator();
        while (files.size() > MAX || chars > MAX_CHARS) {
            chars -= oldest.next().target().length();
            oldest.remove();
        }
    }

    /** What is known of a file, if its registry is still one of the policy's. */
    synchronized Optional<LearnedFile> find(FileAddress at, EgressPolicy policy) {
        return Optional.ofNullable(files.get(at))
                .filter(file -> policy.registryAddresses().contains(file.registry()));
    }

    /** Whether a host is one of files, of a registry that is still one of the policy's. */
    synchronized boolean opens(HostName host, EgressPolicy policy) {
        return hosts.entrySet().stream()
                .anyMatch(entry ->
                        entry.getKey().host().equals(host) && serves(entry.getValue(), policy));
    }

    /** The same of a host and port. */
    synchronized boolean opens(Destination to, EgressPolicy policy) {
        return to instanceof Destination.Named named
                && serves(hosts.getOrDefault(named, Set.of()), policy);
    }

    private static boolean serves(Collection<Registry> from, EgressPolicy policy) {
        List<Registry> now = from.isEmpty() ? List.of() : policy.registryAddresses();
        return from.stream().anyMatch(now::contains);
    }
}
