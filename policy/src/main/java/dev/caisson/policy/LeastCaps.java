package dev.caisson.policy;

import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressLimits;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The least of what several documents say; what none says is the product's own. */
final class LeastCaps {
    private static final int CONNECTIONS = 256;
    private static final int CONNECTIONS_PER_SECOND = 200;
    private static final int QUERIES_PER_MINUTE = 600;

    private OptionalLong bytes = OptionalLong.empty();
    private OptionalLong bytesPerSecond = OptionalLong.empty();
    private OptionalLong connections = OptionalLong.empty();
    private OptionalLong connectionsPerSecond = OptionalLong.empty();
    private OptionalLong queriesPerMinute = OptionalLong.empty();

    private LeastCaps() {}

    static EgressCaps of(List<EgressJson> documents) {
        LeastCaps least = new LeastCaps();
        for (EgressJson document : documents) {
            EgressLimits limits = document.limits();
            if (limits != null) {
                least.add(limits);
            }
        }
        return new EgressCaps(
                least.bytes,
                least.bytesPerSecond,
                (int) least.connections.orElse(CONNECTIONS),
                (int) least.connectionsPerSecond.orElse(CONNECTIONS_PER_SECOND),
                (int) least.queriesPerMinute.orElse(QUERIES_PER_MINUTE));
    }

    private void add(EgressLimits limits) {
        bytes = least(bytes, limits.bytes());
        bytesPerSecond = least(bytesPerSecond, limits.bytesPerSecond());
        connections = least(connections, limits.connections());
        connectionsPerSecond = least(connectionsPerSecond, limits.connectionsPerSecond());
        queriesPerMinute = least(queriesPerMinute, limits.dnsQueriesPerMinute());
    }

    private static OptionalLong least(OptionalLong so, @Nullable Number given) {
        return given == null
                ? so
                : OptionalLong.of(Math.min(so.orElse(Long.MAX_VALUE), given.longValue()));
    }
}
