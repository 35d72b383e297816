package dev.caisson.server;

import java.io.IOException;

/** The client hung up, or was too slow, while its body was read or its answer written. */
final class ClientGone extends IOException {
    private static final long serialVersionUID = 1;

    ClientGone(Throwable cause) {
        super("The client is gone.", cause);
    }
}
