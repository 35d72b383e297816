package dev.caisson.control;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.RunJson;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A run as it is stored. A document is changed by one thread at a time, then written. */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class RunDoc {
    static final String RUNNING = "running";
    static final String ENDED = "ended";
    static final String FAILED = "failed";
    static final String LOST = "lost";

    String id = "";
    String tenant = "";
    String keyId = "";
    String state = RUNNING;
    @Nullable String sandbox;
    @Nullable String session;
    @Nullable String tier;
    @Nullable String engine;
    @Nullable String exec;
    @Nullable String language;
    Map<String, String> labels = Map.of();
    boolean collect;
    boolean inline;
    long keepMillis;
    Instant createdAt = Instant.EPOCH;
    @Nullable Instant endedAt;
    @Nullable Instant expiresAt;
    @Nullable ResultJson result;
    @Nullable ErrorJson error;
    List<ResultFileJson> files = List.of();
    int fileCount; // where the files are beside the row
    long keptBytes; // that they take of the tenant's disk quota

    static RunDoc of(Row row) {
        return Json.read(row.body(), RunDoc.class);
    }

    Row row(long version, String node) {
        return new Row(
                id,
                tenant,
                sandbox,
                null,
                state,
                node,
                createdAt,
                expiresAt,
                labels,
                version,
                Json.write(this));
    }

    /** A copy whose result says how much output there was, and holds neither that nor its files. */
    RunDoc slim() {
        RunDoc slim = copy();
        slim.files = List.of();
        slim.fileCount = files.size();
        ResultJson whole = result;
        if (whole != null) {
            slim.result =
                    new ResultJson(
                            whole.exitCode(),
                            whole.signal(),
                            whole.reason(),
                            whole.limitsHit(),
                            without(whole.stdout()),
                            without(whole.stderr()),
                            List.of(),
                            List.of(),
                            whole.denied(),
                            whole.usage(),
                            whole.degraded(),
                            whole.hint());
        }
        return slim;
    }

    private static OutputJson without(OutputJson output) {
        return new OutputJson(
                output.encoding(),
                "",
                output.totalBytes(),
                output.totalBytes() > 0,
                output.totalBytes());
    }

    /** The row of the whole result, for {@link Kind#RESULT}. */
    Row resultRow(ResultJson whole, String node) {
        return new Row(
                id,
                tenant,
                null,
                null,
                state,
                node,
                createdAt,
                null,
                Map.of(),
                1,
                Json.write(whole));
    }

    /** A copy to change. */
    RunDoc copy() {
        RunDoc copy = new RunDoc();
        copy.id = id;
        copy.tenant = tenant;
        copy.keyId = keyId;
        copy.state = state;
        copy.sandbox = sandbox;
        copy.session = session;
        copy.tier = tier;
        copy.engine = engine;
        copy.exec = exec;
        copy.language = language;
        copy.labels = labels;
        copy.collect = collect;
        copy.inline = inline;
        copy.keepMillis = keepMillis;
        copy.createdAt = createdAt;
        copy.endedAt = endedAt;
        copy.expiresAt = expiresAt;
        copy.result = result;
        copy.error = error;
        copy.files = files;
        copy.fileCount = fileCount;
        copy.keptBytes = keptBytes;
        return copy;
    }

    boolean over() {
        return !state.equals(RUNNING);
    }

    Ledger.Subject subject() {
        return new Ledger.Subject(tenant, sandbox, session, exec, id);
    }

    RunJson form() {
        return new RunJson(
                id, state, sandbox, session, tier, engine, exec, labels, createdAt, endedAt,
                expiresAt, result, error);
    }
}
