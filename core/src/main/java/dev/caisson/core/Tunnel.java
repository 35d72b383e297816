package dev.caisson.core;

import java.io.InputStream;
import java.io.OutputStream;

/** A TCP connection into a sandbox. Each direction by one thread at a time. */
public interface Tunnel extends AutoCloseable {
    /** What comes from inside. */
    InputStream input();

    /** What goes inside; closing it closes that direction only. */
    OutputStream output();

    /** Cuts both directions. */
    @Override
    void close();
}
