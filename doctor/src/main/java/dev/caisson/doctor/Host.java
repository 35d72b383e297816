package dev.caisson.doctor;

import java.nio.file.Path;
import java.util.Optional;

/** How a host is looked at. */
interface Host {
    /** A small text file; empty: it is not there, or may not be read. */
    Optional<String> read(String path);

    boolean exists(String path);

    /** The first program of that name in the usual folders. */
    Optional<Path> program(String name);

    /** What a program prints, both streams together; empty: it is not there or fails. */
    Optional<String> run(String program, String... arguments);

    /** Whether something listens on that Unix socket. */
    boolean answers(Path socket);

    /** Bytes that are free where that path is, or will be; -1: not known. */
    long freeBytes(Path path);

    boolean root();
}
