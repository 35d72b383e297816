package dev.caisson.embedded;

import dev.caisson.api.Caisson;
import dev.caisson.api.CaissonProvider;
import dev.caisson.api.EventSink;

/** Offers {@link EmbeddedCaisson} to {@link Caisson#open()}. */
public final class EmbeddedProvider implements CaissonProvider {
    /** For {@link java.util.ServiceLoader}. */
    public EmbeddedProvider() {}

    @Override
    public String name() {
        return "embedded";
    }

    @Override
    public Caisson open(EventSink events) {
        return EmbeddedCaisson.open(events);
    }
}
