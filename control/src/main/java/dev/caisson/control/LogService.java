package dev.caisson.control;

import java.io.IOException;

/** Output that is kept of a sandbox, of all its execs. */
public interface LogService {
    /**
     * Tells what is kept, in order of time, and what comes with {@code follow} until the sandbox
     * ends, which is an {@code exit} of no exec; blocks.
     */
    void read(Caller caller, String sandbox, boolean follow, Follower follower) throws IOException;
}
