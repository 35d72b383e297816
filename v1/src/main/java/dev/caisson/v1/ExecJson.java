package dev.caisson.v1;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command that runs or ran.
 *
 * @param id id
 * @param sandbox sandbox
 * @param session session
 * @param state {@code starting, waiting_approval, running, ended, failed}
 * @param argv command
 * @param cwd folder
 * @param user who
 * @param pty has a terminal
 * @param pid inside
 * @param createdAt asked
 * @param endedAt ended
 * @param result once it ended
 * @param error why it did not start
 * @param approval what it waits for
 */
public record ExecJson(
        String id,
        String sandbox,
        String session,
        String state,
        List<String> argv,
        String cwd,
        String user,
        boolean pty,
        @Nullable Long pid,
        Instant createdAt,
        @Nullable Instant endedAt,
        @Nullable ResultJson result,
        @Nullable ErrorJson error,
        @Nullable String approval) {
    /** Copies the collections; absent ones are empty. */
    public ExecJson {
        argv = List.copyOf(Absent.list(argv));
    }
}
