package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.core.Engine;
import dev.caisson.v1.QuotaJson;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.WeakHashMap;

/** The group of each tenant in each engine, told once per change. Thread-safe. */
final class Groups {
    private static final int USUAL_WEIGHT = 100;

    /** Guards itself and what is in it; held while an engine is told, so that the last one wins. */
    private final Map<Engine, Map<String, Engine.GroupLimits>> told = new WeakHashMap<>();

    static Engine.GroupLimits limits(QuotaJson quotas) {
        Integer weight = quotas.weight();
        Long memory = quotas.memoryBytes();
        Long pids = quotas.pids();
        Long cpu = quotas.cpuMillis();
        return new Engine.GroupLimits(
                weight == null ? USUAL_WEIGHT : weight,
                memory == null ? Optional.empty() : Optional.of(ByteSize.of(memory)),
                pids == null
                        ? OptionalInt.empty()
                        : OptionalInt.of((int) Math.min(pids, Integer.MAX_VALUE)),
                cpu == null ? OptionalDouble.empty() : OptionalDouble.of(cpu / 1000.0));
    }

    void set(Engine engine, String tenant, QuotaJson quotas) {
        Engine.GroupLimits limits = limits(quotas);
        synchronized (told) {
            Map<String, Engine.GroupLimits> groups =
                    told.computeIfAbsent(engine, key -> new HashMap<>());
            if (limits.equals(groups.get(tenant))) {
                return;
            }
            tell(engine, tenant, limits);
            groups.put(tenant, limits);
        }
    }

    /** The tenant is gone: its group keeps no ceilings, and no place among those that have some. */
    void forget(Engine engine, String tenant) {
        synchronized (told) {
            told.computeIfAbsent(engine, key -> new HashMap<>()).remove(tenant);
            tell(engine, tenant, limits(QuotaJson.NONE));
        }
    }

    /** In every engine that has the group already. */
    void reset(String tenant, QuotaJson quotas) {
        List<Engine> engines = new ArrayList<>();
        synchronized (told) {
            told.forEach((engine, groups) -> {
                if (groups.containsKey(tenant)) {
                    engines.add(engine);
                }
            });
        }
        engines.forEach(engine -> set(engine, tenant, quotas));
    }

    private static void tell(Engine engine, String tenant, Engine.GroupLimits limits) {
        try {
            engine.setGroup(tenant, limits);
        } catch (CaissonException e) {
            // Seats keep the sum of all ceilings below the quotas in any case.
            if (e.code() != ErrorCode.UNSUPPORTED && e.code() != ErrorCode.NO_CAPACITY) {
                throw e;
            }
        }
    }
}
