package dev.caisson.control;

import dev.caisson.api.Limits;
import dev.caisson.core.Engine;
import dev.caisson.core.VolumeMount;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A sandbox that passed its policy and is to be made.
 *
 * @param doc its document, without id
 * @param disk saved disk to start from
 */
record Order(
        SandboxDoc doc,
        Engine engine,
        Limits limits,
        Map<String, String> env,
        Optional<String> disk,
        List<VolumeMount> mounts,
        EffectivePolicy policy) {}
