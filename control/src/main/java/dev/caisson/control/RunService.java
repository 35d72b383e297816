package dev.caisson.control;

import dev.caisson.v1.Page;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.RunJson;
import dev.caisson.v1.RunRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A whole life in one call. */
public interface RunService {
    /** Runs to the end, or starts detached; durable when this returns. */
    RunJson start(Caller caller, RunRequest request);

    /** Waits for its end; empty when it still runs. */
    Optional<RunJson> await(Caller caller, String id, Duration longest);

    /** Tells what happens, as an exec does. */
    void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException;

    /** One. */
    RunJson find(Caller caller, String id);

    /** Newest first. */
    Page<RunJson> list(Caller caller, Listing listing);

    /** Ends it, or deletes what is kept of it. */
    RunJson delete(Caller caller, String id);

    /** The content of a file that came out. */
    ResultFileJson file(Caller caller, String id, String path);

    /** The same as bytes. */
    InputStream open(Caller caller, String id, String path) throws IOException;

    /** All files as a tar archive. */
    void archive(Caller caller, String id, OutputStream target) throws IOException;
}
