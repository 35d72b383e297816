package dev.caisson.v1;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One object of a stream; what does not fit its type is absent.
 *
 * @param id position, for Last-Event-ID
 * @param time when
 * @param type {@code started, stdout, stderr, pty, result, limit, denied, gap, keepalive, exit,
 *     error}
 * @param text output that is UTF-8
 * @param base64 other output
 * @param offset of the first byte
 * @param bytes missing, of a gap; absent where whole commands are missing in a log
 * @param fd of a gap
 * @param exec of started, and of each item of a log that is of a command
 * @param sandbox of started
 * @param run of started and exit
 * @param pid of started
 * @param limit of limit
 * @param denied of denied
 * @param result of exit
 * @param error of exit, when it could not be run
 */
public record StreamItem(
        String id,
        Instant time,
        String type,
        @Nullable String text,
        @Nullable String base64,
        @Nullable Long offset,
        @Nullable Long bytes,
        @Nullable String fd,
        @Nullable String exec,
        @Nullable String sandbox,
        @Nullable String run,
        @Nullable Long pid,
        @Nullable String limit,
        @Nullable DeniedJson denied,
        @Nullable ResultJson result,
        @Nullable ErrorJson error) {}
