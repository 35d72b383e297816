package dev.caisson.control;

import dev.caisson.v1.PoolRequest;
import dev.caisson.v1.SandboxRequest;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a pool asks for, as orders and policies see it. */
final class PoolOrders {
    private PoolOrders() {}

    static Caller owner(PoolDoc pool) {
        return new Caller(
                pool.tenant,
                pool.keyId,
                "caisson",
                Role.OPERATOR,
                Set.of(),
                null,
                false,
                Map.of(),
                null,
                Proof.NONE);
    }

    static SandboxRequest like(PoolRequest request) {
        return new SandboxRequest(
                null,
                null,
                Map.of(),
                request.tier(),
                request.template(),
                null,
                null,
                request.limits(),
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                request.root(),
                List.of(),
                null,
                null,
                "none",
                request.egress(),
                List.of());
    }
}
