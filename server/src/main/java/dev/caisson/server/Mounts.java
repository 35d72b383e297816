package dev.caisson.server;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The mounts by the first segment of their paths, each with a line for metrics and the log. */
final class Mounts {
    private final Map<String, Mounted> bySegment = new HashMap<>();

    /** One of them. */
    record Mounted(Mount mount, Route route) {}

    Mounts(List<Mount> mounts, List<Route> routes) {
        for (Mount mount : mounts) {
            boolean taken = routes.stream().anyMatch(route -> route.path.startsWith(mount.path()));
            Mounted mounted = new Mounted(mount, Route.mount(mount.path()));
            if (taken || bySegment.put(mount.path().substring(1), mounted) != null) {
                throw new IllegalArgumentException("Two things answer at " + mount.path());
            }
        }
    }

    /** Null: none has that path. */
    @Nullable Mounted find(List<String> segments) {
        return segments.isEmpty() ? null : bySegment.get(segments.getFirst());
    }
}
