package dev.caisson.core;

import dev.caisson.api.Limits;
import java.time.Duration;
import java.util.Optional;

/**
 * A sandbox as an engine is asked for it.
 *
 * @param sandbox id, from {@link Engine#reserve}
 * @param group opaque id with ceilings of its own
 * @param template name of a root file system
 * @param limits checked already
 * @param lease the sandbox outlives its client that long unless renewed; empty: it ends with its client
 * @param maxLife the engine ends it alone after that; empty: never
 */
public record EngineRequest(
        String sandbox,
        String group,
        String template,
        Limits limits,
        Optional<Duration> lease,
        Optional<Duration> maxLife) {}
