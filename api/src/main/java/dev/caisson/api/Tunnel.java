package dev.caisson.api;

import java.io.InputStream;
import java.io.OutputStream;

/**
 * A connection to a TCP port inside a sandbox. One thread may read and another write. It ends with
 * the sandbox, and when the connection to the sandbox breaks; reads and writes then throw an {@link
 * java.io.IOException}.
 */
public interface Tunnel extends AutoCloseable {
    /** What the program inside writes, to its end of file. Closing it changes nothing. */
    InputStream input();

    /** To the program inside; waits while it does not read. Closing it is the end of file there. */
    OutputStream output();

    /** Cuts what is still open in either direction. Does nothing the second time. */
    @Override
    void close();
}
