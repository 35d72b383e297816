package dev.caisson.control;

import dev.caisson.v1.ExecJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.Page;
import dev.caisson.v1.PtyJson;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Commands in sandboxes. */
public interface ExecService {
    /** Starts a command; a policy that says ask makes it wait for an approval. */
    ExecJson start(Caller caller, String sandbox, ExecRequest request);

    /**
     * Waits until the start of a command is durable, which is within 25 ms of itself; for those who
     * tell its id and then leave it alone. When it cannot be written the command is killed.
     */
    void settle(Caller caller, String id);

    /** One. */
    ExecJson find(Caller caller, String id);

    /** Of a sandbox, newest first. */
    Page<ExecJson> list(Caller caller, String sandbox, Listing listing);

    /** Waits for its end, with the captured output; empty when it still runs. */
    Optional<ExecJson> await(Caller caller, String id, Duration longest);

    /**
     * Tells everything behind a position until the exit item, which is always last; blocks. What is
     * no longer kept is a gap.
     *
     * @param after id of the last item that was seen; null: from the start
     */
    void follow(Caller caller, String id, @Nullable String after, Follower follower)
            throws IOException;

    /** Writes to its standard input; blocks while it does not read. */
    void input(Caller caller, String id, InputStream data, boolean eof) throws IOException;

    /** Sends a signal to the main process, or to all of it. */
    void signal(Caller caller, String id, int signal, boolean whole);

    /** Kills all of it. */
    ExecJson kill(Caller caller, String id);

    /** New size of its terminal. */
    void resize(Caller caller, String id, PtyJson size);
}
