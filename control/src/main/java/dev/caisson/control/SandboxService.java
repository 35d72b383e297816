package dev.caisson.control;

import dev.caisson.api.UserInfo;
import dev.caisson.v1.ExtendRequest;
import dev.caisson.v1.ForkRequest;
import dev.caisson.v1.MetricsJson;
import dev.caisson.v1.Page;
import dev.caisson.v1.PauseRequest;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.SandboxPatch;
import dev.caisson.v1.SandboxRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The life of sandboxes. Each call acts for its caller; ids and names of other tenants do not
 * exist.
 */
public interface SandboxService {
    /**
     * Creates a sandbox, or finds the one of that name; ready for commands and durable when this
     * returns.
     */
    Made create(Caller caller, SandboxRequest request);

    /** A sandbox, and whether it was there before. */
    record Made(SandboxJson sandbox, boolean existed) {}

    /** Newest first; ended ones for as long as they are kept. */
    Page<SandboxJson> list(Caller caller, Listing listing);

    /** One, by id or by the name of a living one. */
    SandboxJson find(Caller caller, String id);

    /** Changes labels, limits and idle time; with a version only if it is still that. */
    SandboxJson patch(Caller caller, String id, SandboxPatch patch, @Nullable Long version);

    /** Moves its end to that long from now, within its longest life. */
    SandboxJson extend(Caller caller, String id, ExtendRequest request);

    /** Ends it; all its processes are dead when this returns. Again: the same answer. */
    SandboxJson delete(Caller caller, String id);

    /** Freezes it, or keeps its file system only. */
    SandboxJson pause(Caller caller, String id, PauseRequest request);

    /** Brings a paused one back. */
    SandboxJson resume(Caller caller, String id);

    /** Copies of it, from its file system. */
    List<SandboxJson> fork(Caller caller, String id, ForkRequest request);

    /** What it uses now. */
    MetricsJson metrics(Caller caller, String id);

    /** Makes a Linux user inside, private to it. */
    UserInfo addUser(Caller caller, String id, String name);
}
