package dev.caisson.core;

import dev.caisson.api.CaissonException;
import dev.caisson.api.Tier;
import java.util.List;

/** What gives a tier: makes sandboxes whose process 1 is our agent. Safe for use by several threads. */
public interface Engine extends AutoCloseable {
    /** A short name, for example {@code namespaces}. */
    String name();

    /** The tier that it gives. */
    Tier tier();

    /** What it can do beyond running commands and moving files. */
    Capabilities capabilities();

    /** What it knows about its host. */
    HostFacts host();

    /** The id of a sandbox that will be created next in that group; the engine may prepare for it. */
    String reserve(String group);

    /**
     * Creates a sandbox of a reserved id. May return before the sandbox is there; {@link EngineSandbox#awaitCreated}
     * waits.
     *
     * @throws CaissonException when it cannot be asked for
     */
    EngineSandbox create(EngineRequest request);

    /**
     * A sandbox that lives already, leased and made by an earlier client of this engine.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#NOT_FOUND}
     */
    EngineSandbox attach(String sandbox);

    /** Ends the sandboxes that are owned through this engine, and gives back everything. */
    @Override
    void close();

    /**
     * What an engine can do; what it cannot is refused with a typed error.
     *
     * @param pause freeze and thaw
     * @param memorySnapshot save and restore with memory
     * @param ioRate limit disk traffic
     */
    record Capabilities(boolean pause, boolean memorySnapshot, boolean ioRate) {}

    /**
     * What an engine knows about its host.
     *
     * @param kernel release
     * @param templates names of root file systems
     * @param degraded what cannot be done, one sentence each
     */
    record HostFacts(String kernel, List<String> templates, List<String> degraded) {
        /** Copies the lists. */
        public HostFacts {
            templates = List.copyOf(templates);
            degraded = List.copyOf(degraded);
        }
    }
}
