package dev.caisson.server;

import java.util.List;

/**
 * What a server has besides its routes.
 *
 * @param census counts of the whole, for metrics
 * @param mounts others that answer at paths of their own
 * @param listener told of each request
 */
public record Additions(Census census, List<Mount> mounts, RequestListener listener) {
    /** Nothing. */
    public static final Additions NONE = new Additions(Census.NONE, List.of(), request -> {});

    /** Copies the list. */
    public Additions {
        mounts = List.copyOf(mounts);
    }

    /** The same with a census. */
    public Additions withCensus(Census other) {
        return new Additions(other, mounts, listener);
    }

    /** The same with these mounts. */
    public Additions withMounts(List<Mount> others) {
        return new Additions(census, others, listener);
    }

    /** The same with a listener. */
    public Additions withListener(RequestListener other) {
        return new Additions(census, mounts, other);
    }
}
