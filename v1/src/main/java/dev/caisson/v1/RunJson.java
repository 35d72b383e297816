package dev.caisson.v1;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A run.
 *
 * @param id id
 * @param state {@code running, ended, failed, lost}
 * @param sandbox its sandbox
 * @param session its life
 * @param tier tier
 * @param engine engine
 * @param exec its exec
 * @param labels labels
 * @param createdAt asked
 * @param endedAt ended
 * @param expiresAt result and files are deleted then
 * @param result once ended
 * @param error why not
 */
public record RunJson(
        String id,
        String state,
        @Nullable String sandbox,
        @Nullable String session,
        @Nullable String tier,
        @Nullable String engine,
        @Nullable String exec,
        Map<String, String> labels,
        Instant createdAt,
        @Nullable Instant endedAt,
        @Nullable Instant expiresAt,
        @Nullable ResultJson result,
        @Nullable ErrorJson error) {
    /** Copies the collections; absent ones are empty. */
    public RunJson {
        labels = Map.copyOf(Absent.map(labels));
    }
}
