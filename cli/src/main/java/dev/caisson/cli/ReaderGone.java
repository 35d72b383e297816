package dev.caisson.cli;

import java.io.IOException;
import java.io.UncheckedIOException;

/** Nobody reads standard output any more: what would go on for that ends. */
final class ReaderGone extends UncheckedIOException {
    private static final long serialVersionUID = 1;

    ReaderGone(IOException cause) {
        super("nobody reads the output", cause);
    }
}
