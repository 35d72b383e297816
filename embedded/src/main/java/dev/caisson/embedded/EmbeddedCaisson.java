package dev.caisson.embedded;

import dev.caisson.api.Caisson;
import dev.caisson.api.EventSink;
import dev.caisson.api.HostInfo.TierInfo;
import dev.caisson.api.Tier;
import dev.caisson.core.Engine;
import dev.caisson.core.EngineCaisson;
import dev.caisson.engine.namespaces.NamespacesEngine;
import java.util.List;
import java.util.Optional;

/**
 * Caisson in this process. As root it starts a launcher of its own; without root it uses the
 * launcher that is installed on the host as a service, when this user is in its group.
 */
public final class EmbeddedCaisson {
    private static final TierInfo NO_GVISOR =
            new TierInfo(
                    Tier.GVISOR,
                    false,
                    Optional.empty(),
                    "this version has no engine for gVisor yet.",
                    "Use the tier container. gvisor will need a recent runsc on the host.");
    private static final TierInfo NO_MICROVM =
            new TierInfo(
                    Tier.MICROVM,
                    false,
                    Optional.empty(),
                    "this version has no engine for microVMs yet.",
                    "Use the tier container. microvm will need QEMU or Firecracker, and /dev/kvm to"
                            + " be fast.");

    private EmbeddedCaisson() {}

    /**
     * Opens Caisson without an event sink; the caller closes it.
     *
     * @throws dev.caisson.api.CaissonException when this host cannot make sandboxes, with what is
     *     missing
     */
    public static Caisson open() {
        return open(EventSink.NONE);
    }

    /** Opens Caisson; the caller closes it. */
    public static Caisson open(EventSink events) {
        return of(NamespacesEngine.open(), events);
    }

    static Caisson of(Engine container, EventSink events) {
        return new EngineCaisson(
                List.of(container), List.of(NO_GVISOR, NO_MICROVM), events, new Documents());
    }
}
