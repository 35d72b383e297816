package dev.caisson.api;

/**
 * An implementation that speaks to the server named by the environment variable {@code
 * CAISSON_URL}. A service of its own, so that no class of it is loaded where that is not set.
 */
public interface RemoteCaissonProvider extends CaissonProvider {}
