package dev.caisson.client;

import dev.caisson.api.Caisson;
import dev.caisson.api.EventSink;
import dev.caisson.api.RemoteCaissonProvider;

/** Offers {@link RemoteCaisson} to {@link Caisson#open()} where {@code CAISSON_URL} is set. */
public final class RemoteProvider implements RemoteCaissonProvider {
    /** For {@link java.util.ServiceLoader}. */
    public RemoteProvider() {}

    @Override
    public String name() {
        return "remote";
    }

    @Override
    public Caisson open(EventSink events) {
        return RemoteCaisson.open(RemoteConfig.of(System.getenv()), events);
    }
}
