package dev.caisson.api;

/** An implementation of the API, found through {@link java.util.ServiceLoader}. */
public interface CaissonProvider {

    /** A short name, for example {@code embedded}. */
    String name();

    /** Opens the implementation; the caller closes it. */
    Caisson open(EventSink events);
}
