package dev.caisson.mcp;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.ApprovalJson;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.FileJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.RunRequest;
import dev.caisson.v1.SandboxJson;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the tools need, for one credential. Safe for use by several threads; calls block. Failures
 * are {@link CaissonException}s. There is no way in here to name a tier, a policy, a network, root
 * or a limit: a model must not be able to ask for them.
 */
public interface Backend extends AutoCloseable {
    /**
     * Makes a sandbox that keeps its state; ready when this returns.
     *
     * @param timeout it ends then, even when the client was lost; null: the default of the service
     */
    SandboxJson create(
            @Nullable String name, Map<String, String> labels, @Nullable Duration timeout);

    /** The living ones, newest first. */
    Page<SandboxJson> list(Map<String, String> labels, int limit, @Nullable String cursor);

    /** Ends one, by id or name. */
    void delete(String sandbox);

    /** Starts code or a command in a fresh sandbox that ends with it; returns at once. */
    Work run(RunRequest request);

    /** Starts a command in a sandbox; returns at once. */
    Work start(String sandbox, ExecRequest request);

    /** One that was started before, by its id. */
    Work work(String id);

    /** A file, links not followed. */
    FileJson stat(String sandbox, String path);

    /** A folder. */
    List<FileJson> list(String sandbox, String path, boolean recursive);

    /** A piece of a regular file. */
    byte[] read(String sandbox, String path, long offset, int length);

    /** Writes a file whole. */
    FileJson write(String sandbox, String path, byte[] content, int mode);

    /** Removes a file or an empty folder; recursive: with all in it. */
    void remove(String sandbox, String path, boolean recursive);

    /** A file that came out of a run, whole; at most {@code limit} bytes. */
    byte[] runFile(String run, String path, int limit);

    /** A request that waits for a person; empty where this credential may not see it. */
    Optional<ApprovalJson> approval(String id);

    /** Whether the user of the session may decide: there is a credential for that. */
    boolean decides();

    /**
     * Decides with that other credential, once.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#POLICY_DENIED} where there is none
     */
    void decide(String approval, boolean approve);

    /** Gives back what this object itself holds; sandboxes of the session were deleted before. */
    @Override
    void close();
}
