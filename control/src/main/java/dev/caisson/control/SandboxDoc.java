package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.SandboxJson;
import dev.caisson.v1.VolumeMountJson;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A sandbox as it is stored. A document is changed under its box's lock, then written. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class SandboxDoc {
    static final String CREATING = "creating";
    static final String RUNNING = "running";
    static final String PAUSING = "pausing";
    static final String PAUSED = "paused";
    static final String RESUMING = "resuming";
    static final String SNAPSHOTTING = "snapshotting";
    static final String ENDING = "ending";
    static final String ENDED = "ended";
    static final String LOST = "lost";

    /** Warm, nobody's yet; not shown. */
    static final String POOLED = "pooled";

    static final String[] ALIVE = {
        CREATING, RUNNING, PAUSING, PAUSED, RESUMING, SNAPSHOTTING, ENDING, POOLED
    };
    static final String[] SHOWN = {
        CREATING, RUNNING, PAUSING, PAUSED, RESUMING, SNAPSHOTTING, ENDING, ENDED, LOST
    };

    String id = "";
    @Nullable String name;
    String tenant = "";
    String session = "";
    String state = CREATING;
    String tier = "";
    String engine = "";
    String template = "";
    @Nullable String snapshot;
    @Nullable String policy;
    String policyVersion = "";
    @Nullable String keyPolicy; // of the key that made it
    @Nullable EgressJson egress; // what was asked, beside the policy
    boolean wayOut; // made with one
    Map<String, String> labels = new LinkedHashMap<>();
    LimitsJson limits = LimitsJson.NONE;
    boolean root;
    List<VolumeMountJson> volumes = List.of();
    boolean allowDegraded;
    boolean owned;
    @Nullable String run;
    @Nullable String pool;
    String keyId = "";
    @Nullable String env; // sealed
    List<String> secretNames = List.of();
    Map<String, String> secrets = Map.of(); // variables for placeholders by ids; "": none
    Instant createdAt = Instant.EPOCH;
    @Nullable Instant startedAt;
    @Nullable Instant timeoutAt;
    @Nullable Long timeoutMillis;
    @Nullable Long idleTimeoutMillis;
    @Nullable Long maxLifeMillis;
    boolean pauseOnTimeout;
    boolean autoResume;
    @Nullable Instant pausedAt;
    @Nullable String pauseMode;
    @Nullable String pauseSnapshot;
    @Nullable Instant endedAt;
    @Nullable String reason;
    @Nullable String detail;
    List<String> degraded = List.of();
    String bootId = "";
    Map<String, String> ports = new LinkedHashMap<>(); // number to access
    Map<String, String> openings = new LinkedHashMap<>(); // number to what is new at each opening

    static SandboxDoc of(Row row) {
        return Json.read(row.body(), SandboxDoc.class);
    }

    Row row(long version, @Nullable String node, @Nullable Instant due) {
        return new Row(
                id,
                tenant,
                null,
                over() ? null : name,
                state,
                node,
                createdAt,
                due,
                labels,
                version,
                Json.write(this));
    }

    /** Becomes what another document asks for, but for what the engine was told already. */
    void take(SandboxDoc asked) {
        name = asked.name;
        labels = asked.labels;
        policy = asked.policy;
        policyVersion = asked.policyVersion;
        egress = asked.egress;
        keyPolicy = asked.keyPolicy;
        run = asked.run;
        owned = asked.owned;
        autoResume = asked.autoResume;
        pauseOnTimeout = asked.pauseOnTimeout;
        timeoutMillis = asked.timeoutMillis;
        idleTimeoutMillis = asked.idleTimeoutMillis;
        maxLifeMillis = asked.maxLifeMillis;
        secretNames = asked.secretNames;
        secrets = asked.secrets;
    }

    boolean over() {
        return state.equals(ENDED) || state.equals(LOST);
    }

    Ledger.Subject subject() {
        return new Ledger.Subject(tenant, id, session, null, run);
    }

    /** When the longest life is over. */
    @Nullable Instant maxLifeAt() {
        return maxLifeMillis == null ? null : createdAt.plusMillis(maxLifeMillis);
    }

    /**
     * The form that clients see.
     *
     * @param idleAt when it will count as idle; null: it is in use, or never
     */
    SandboxJson form(@Nullable Instant idleAt, @Nullable String node, long version) {
        End end = end(idleAt);
        return new SandboxJson(
                id,
                name,
                tenant,
                session,
                state,
                tier,
                engine,
                template,
                snapshot,
                policy,
                labels,
                limits,
                root ? "allowed" : "denied",
                volumes,
                createdAt,
                startedAt,
                end.at(),
                end.why(),
                idleTimeoutMillis,
                maxLifeMillis,
                pauseOnTimeout ? "pause" : "delete",
                autoResume,
                pausedAt,
                pauseMode,
                endedAt,
                reason,
                detail,
                degraded,
                node == null ? "" : node,
                version,
                egress);
    }

    /** When it will end or pause as things stand, and why. */
    record End(@Nullable Instant at, @Nullable String why) {
        private static final End NEVER = new End(null, null);

        private End sooner(@Nullable Instant other, String otherWhy) {
            return other != null && (at == null || other.isBefore(at))
                    ? new End(other, otherWhy)
                    : this;
        }
    }

    End end(@Nullable Instant idleAt) {
        if (over()) {
            return End.NEVER;
        }
        End end = End.NEVER.sooner(maxLifeAt(), "max_life");
        if (state.equals(PAUSED)) {
            return end;
        }
        return end.sooner(timeoutAt, "timeout").sooner(idleAt, "idle");
    }
}
