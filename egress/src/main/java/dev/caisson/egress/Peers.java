package dev.caisson.egress;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.OptionalInt;

/** Who is on the other side of a Unix socket. */
@FunctionalInterface
interface Peers {
    /** The uid, when it is one of those that may speak here. */
    OptionalInt uid(SocketChannel connection) throws IOException;
}
