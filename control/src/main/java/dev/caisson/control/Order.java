package dev.caisson.control;

import dev.caisson.api.Limits;
import dev.caisson.core.Engine;
import dev.caisson.core.VolumeMount;
import dev.caisson.v1.EgressJson;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A sandbox that passed its policy and is to be made.
 *
 * @param doc its document, without id
 * @param disk saved disk to start from
 * @param egress documents of the way out, at least one; what each of them allows
 */
record Order(
        SandboxDoc doc,
        Engine engine,
        Limits limits,
        Map<String, String> env,
        Optional<String> disk,
        List<VolumeMount> mounts,
        List<EgressJson> egress,
        EffectivePolicy policy) {
    /** Copies the layers. */
    Order {
        egress = List.copyOf(egress);
    }

    /** Whether it gets a way out at all. */
    boolean wayOut() {
        return WayOut.open(egress);
    }
}
