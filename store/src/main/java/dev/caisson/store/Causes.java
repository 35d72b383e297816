package dev.caisson.store;

import java.util.concurrent.CompletionException;

/** What went wrong in another thread, for the thread that waited. */
final class Causes {
    private Causes() {}

    /** The cause to throw; an error is thrown at once. */
    static RuntimeException unchecked(CompletionException e) {
        return switch (e.getCause()) {
            case RuntimeException cause -> cause;
            case Error cause -> throw cause;
            case null, default -> e;
        };
    }
}
